// Changes many items: the server makes commands of a form, and the script sends them as one stream and shows each
// outcome as it comes.

// The selected rows of a list.
for (const form of document.querySelectorAll('form.bulk[data-texts]')) {
  const texts = JSON.parse(form.dataset.texts)
  const boxes = [...form.querySelectorAll('td.pick input')]
  if (boxes.length === 0) continue
  const bar = form.querySelector('.bulk-bar')
  const legend = bar.querySelector('legend')
  const title = legend.textContent
  const action = form.elements.namedItem('action')
  // The field that belongs to an action alone.
  const fieldOf = JSON.parse(form.dataset.fields)
  const chosen = () => boxes.filter((box) => box.checked)

  // The box above all boxes.
  const head = form.querySelector('[data-select-all]')
  const all = document.createElement('input')
  all.type = 'checkbox'
  all.setAttribute('aria-label', head.dataset.selectAll)
  head.replaceChildren(all)
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked
    show()
  })

  function show() {
    const count = chosen().length
    all.checked = count === boxes.length
    all.indeterminate = count > 0 && count < boxes.length
    bar.hidden = count === 0
    legend.textContent = `${title}: ${texts.selected.replace('#', count)}`
    for (const [name, field] of Object.entries(fieldOf)) {
      const control = form.elements.namedItem(field)
      if (!control) continue
      control.closest('.field').hidden = name !== action.value
      control.required = name === action.value
    }
  }
  form.addEventListener('change', show)
  window.addEventListener('pageshow', show)
  show()

  const onEnd = (actions) => {
    const reload = make('button', texts.reload, { type: 'button' })
    reload.addEventListener('click', () => location.reload())
    actions.append(reload)
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const names = chosen().map((box) => box.closest('tr').querySelector('th').textContent)
    const fields = new URLSearchParams(new FormData(form))
    // The server chooses new ids for the commands: a form that stays is sent several times.
    fields.delete('bulkId')
    if (names.length > 0) void send(form, { fields, nameOf: (index) => names[index], texts, onEnd })
  })
}

// A file. In the end the form is sent as it would be without a script: the server repeats what is done, and shows the
// result.
for (const form of document.querySelectorAll('form.import[data-texts]')) {
  const texts = JSON.parse(form.dataset.texts)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const nameOf = (index) => String(index + 1)
    void send(form, { fields: new FormData(form), nameOf, texts, onEnd: () => form.submit() })
  })
}

// The server makes commands of the fields, one a line, in the order of the items.
async function send(form, { fields, nameOf, texts, onEnd }) {
  const button = form.querySelector('button[type=submit]')
  button.disabled = true
  fields.set('stage', 'commands')
  const response = await fetch(form.getAttribute('action'), { method: 'POST', body: fields }).catch(() => undefined)
  const isNdjson = response?.ok && response.headers.get('content-type') === 'application/x-ndjson'
  // The page of the server says what is wrong.
  if (!isNdjson) return form.submit()
  const lines = (await response.text()).split('\n').filter((line) => line !== '')
  const work = lines.map((line, index) => ({ text: nameOf(index), command: JSON.parse(line) }))
  await run(work, { form, texts, onEnd })
  button.disabled = false
}

const make = (name, text, parts = {}) => Object.assign(document.createElement(name), { textContent: text, ...parts })

// Sends the commands of `work`, shows progress and refusals before `form`, and calls `onEnd` when each has an outcome.
async function run(work, { form, texts, onEnd }) {
  const bar = form.querySelector('fieldset') ?? {}
  const panel = make('section', '', { className: 'panel bulk-result', tabIndex: -1 })
  const heading = make('h2', texts.title)
  const progress = make('progress', '', { max: work.length, value: 0 })
  progress.setAttribute('aria-label', texts.progress)
  const status = make('p', '')
  status.setAttribute('role', 'status')
  const list = make('ul', '', { className: 'outcomes' })
  const actions = make('p', '', { className: 'actions' })
  panel.append(heading, progress, status, list, actions)
  document.querySelector('.bulk-result')?.remove()
  form.before(panel)
  bar.disabled = true
  panel.focus()
  let [done, refused] = [0, 0]
  const take = (outcome) => {
    const { text } = work[outcome.line - 1]
    if (outcome.problem) {
      refused += 1
      const item = make('li', `${text}: `)
      item.append(make('span', texts.refused, { className: 'badge bad' }), ` ${reasonOf(outcome.problem, texts)}`)
      list.append(item)
    } else done += 1
    progress.value = done + refused
    // Screen readers hear each tenth of the work, not each item.
    const step = Math.max(1, Math.floor(work.length / 10))
    if ((done + refused) % step === 0) status.textContent = numbers(texts.running, done + refused, work.length)
  }
  try {
    const lines = work.map(({ command }) => command)
    await stream(lines, { take, texts })
    if (done + refused < work.length) throw new Error(texts.failed)
    status.textContent = numbers(texts.finished, done, refused)
    panel.dataset.ended = 'yes'
    onEnd(actions)
  } catch (error) {
    status.textContent = error.isRefusal ? error.message : texts.failed
    const again = make('button', texts.again, { type: 'button' })
    again.addEventListener('click', () => void run(work, { form, texts, onEnd }))
    actions.append(again)
  }
  bar.disabled = false
}

const numbers = (text, ...values) => values.reduce((rest, value) => rest.replace('#', value), text)

function reasonOf({ code, detail, errors = [] }, texts) {
  if (code === 'precondition-failed') return texts.changed
  return errors.length > 0 ? errors.map(({ message }) => message).join(' ') : detail
}

async function stream(lines, { take, texts }) {
  const type = 'application/x-ndjson'
  const response = await fetch('/commands', {
    method: 'POST',
    headers: { 'content-type': type, accept: type, prefer: 'return=minimal' },
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
  })
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}))
    const message = response.status === 401 ? texts.sessionEnded : (problem.detail ?? texts.failed)
    throw Object.assign(new Error(message), { isRefusal: true })
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const parts = (rest + value).split('\n')
    rest = parts.pop()
    for (const line of parts) if (line !== '') take(JSON.parse(line))
  }
}
