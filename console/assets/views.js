// Views of a list that a reader names: kept in this browser, apart for each user.

for (const nav of document.querySelectorAll('nav[data-views]')) {
  const key = `views ${nav.dataset.views} ${location.pathname}`
  const details = nav.querySelector('.save-view')
  // A query that was refused is no view.
  const form = details?.querySelector('form')
  const list = nav.querySelector('ul')

  const read = () => {
    try {
      const views = JSON.parse(localStorage.getItem(key) ?? '[]')
      return views.filter(({ name, query }) => typeof name === 'string' && typeof query === 'string')
    } catch {
      return []
    }
  }
  const write = (views) => {
    try {
      localStorage.setItem(key, JSON.stringify(views))
    } catch {
      // The browser keeps nothing: the view is in the URL.
    }
    show()
  }
  const here = () => {
    const query = new URLSearchParams(location.search)
    query.delete('cursor')
    return query.toString()
  }
  const itemOf = ({ name, query }) => {
    const link = document.createElement('a')
    link.href = query === '' ? location.pathname : `${location.pathname}?${query}`
    link.textContent = name
    if (query === here()) link.setAttribute('aria-current', 'page')
    const remove = document.createElement('button')
    remove.type = 'button'
    remove.className = 'plain'
    remove.textContent = '×'
    remove.setAttribute('aria-label', `${nav.dataset.remove} ${name}`)
    remove.addEventListener('click', () => {
      write(read().filter((view) => view.name !== name))
      details?.querySelector('summary').focus()
    })
    const item = document.createElement('li')
    item.className = 'own'
    item.append(link, remove)
    return item
  }
  function show() {
    for (const item of list.querySelectorAll('.own')) item.remove()
    list.append(...read().map(itemOf))
  }

  form?.addEventListener('submit', (event) => {
    event.preventDefault()
    const name = form.elements.namedItem('view-name').value.trim()
    if (!/[^\s\p{DI}\p{C}\p{M}\u2800]/u.test(name)) return
    write([...read().filter((view) => view.name !== name), { name, query: here() }].slice(-20))
    form.reset()
    details.open = false
    details.querySelector('summary').focus()
  })
  if (details) details.hidden = false
  show()
}
