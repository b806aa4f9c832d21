// A part of the page follows events of the server. It is reloaded some time after an event, and only while the
// reader works on the page: a page that is left alone does not keep a session from ending.

const waitMs = 2_000
const idleMs = 5 * 60_000

for (const part of document.querySelectorAll('[data-events]')) {
  let source
  let isPlanned = false
  let isStale = false
  let activeAt = Date.now()

  const isWatched = () => !document.hidden && Date.now() - activeAt < idleMs
  // The focus would be lost with the element that has it.
  const isUsed = () => part.contains(document.activeElement)

  async function refresh() {
    isPlanned = false
    if (!isStale || !isWatched() || isUsed()) return
    isStale = false
    const response = await fetch(location.href).catch(() => undefined)
    if (!response?.ok || response.redirected) return close()
    const found = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById(part.id)
    if (!found || isUsed()) return
    part.replaceChildren(...found.childNodes)
    part.dispatchEvent(new Event('replaced', { bubbles: true }))
  }
  const later = () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => void refresh(), waitMs)
  }

  function open() {
    if (source || document.hidden) return
    source = new EventSource(part.dataset.events)
    const take = () => {
      isStale = true
      later()
    }
    for (const type of [...part.dataset.types.split(' '), 'reset']) source.addEventListener(type, take)
  }
  function close() {
    source?.close()
    source = undefined
  }

  // Browsers keep few connections to a server: a page that is not seen has none.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return close()
    // What happened until now was not told.
    isStale = true
    open()
    later()
  })
  for (const type of ['pointermove', 'keydown', 'focusout', 'scroll'])
    document.addEventListener(
      type,
      () => {
        activeAt = Date.now()
        if (isStale) later()
      },
      { passive: true },
    )
  window.addEventListener('pagehide', close)
  open()
  for (const hint of document.querySelectorAll('.live-hint')) hint.hidden = false
}
