// Improves pages that work without it.

// Times in the time zone of the reader, also in what comes later.
function showLocalTimes() {
  for (const time of document.querySelectorAll('time[data-local]')) {
    const date = new Date(time.dateTime)
    if (Number.isNaN(date.getTime())) continue
    const format = new Intl.DateTimeFormat(time.dataset.local, { dateStyle: 'medium', timeStyle: 'short' })
    time.textContent = format.format(date)
    time.title = date.toISOString()
  }
}
showLocalTimes()
document.addEventListener('replaced', showLocalTimes)

// A form is sent once, however often the button is pressed.
document.addEventListener('submit', (event) => {
  const form = event.target
  if (event.defaultPrevented) return
  if (form.dataset.sent) event.preventDefault()
  else if (form.method === 'post') form.dataset.sent = 'yes'
})

// Forms that were sent can be sent again after a return by the button Back.
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('form[data-sent]')) delete form.dataset.sent
})

// The box above the boxes of a list.
for (const head of document.querySelectorAll('[data-select-all]')) {
  const boxes = [...head.closest('table').querySelectorAll('td.pick input')]
  const all = Object.assign(document.createElement('input'), { type: 'checkbox', ariaLabel: head.dataset.selectAll })
  head.replaceChildren(all)
  head.closest('table').addEventListener('change', ({ target }) => {
    if (target === all) for (const box of boxes) box.checked = all.checked
    else all.checked = boxes.every(({ checked }) => checked)
  })
}

// A question before what cannot be undone.
document.addEventListener('click', (event) => {
  const button = event.target.closest?.('button[data-confirm]')
  if (button && !window.confirm(button.dataset.confirm)) event.preventDefault()
})

// The list of errors gets the focus, so that screen readers begin there.
document.querySelector('.summary[role="alert"]')?.focus()
