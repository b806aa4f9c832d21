// Follows changes of what a page shows, while the page is visible. Pages work without it.

const note = document.getElementById('following')
const shown = () => document.getElementById(note.dataset.replace ?? '')
let version = Number(note.dataset.version)
let stream
let retry
let pause = 5000
let isEntering = false
let checking

// Nothing that a reader is typing is ever replaced.
const isBusy = () => {
  const place = shown()
  if (!place || isEntering) return true
  const open = [...place.querySelectorAll('details[open]')].some((fold) => fold.querySelector('form'))
  return open || place.contains(document.activeElement)
}

document.addEventListener('input', (event) => {
  if (event.target.closest('main form')) isEntering = true
})

const say = (text, actor, withLink) => {
  const who = actor === note.dataset.reader ? note.dataset.you : actor
  const words = who ? text.replace('#', who) : note.dataset.changedBySomebody
  note.replaceChildren(words)
  note.classList.add('warning')
  if (!withLink) return
  const link = document.createElement('a')
  link.href = note.dataset.page
  link.textContent = note.dataset.show
  note.append(' ', link)
}

// Replaces what the page shows by what the page would show now.
async function refresh(actor) {
  const url = new URL(location.href)
  url.searchParams.delete('done')
  try {
    const response = await fetch(url, { cache: 'no-store', redirect: 'error' })
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html')
    const [old, now] = [shown(), fresh.getElementById(note.dataset.replace)]
    const newVersion = Number(fresh.getElementById(note.id)?.dataset.version)
    if (!response.ok || !now || !newVersion || isBusy()) return say(note.dataset.changed, actor, true)
    const unfolded = [...old.querySelectorAll('details[open][id]')].map(({ id }) => id)
    old.replaceWith(now)
    for (const id of unfolded) document.getElementById(id)?.setAttribute('open', '')
    version = newVersion
    document.dispatchEvent(new Event('replaced'))
    say(note.dataset.refreshed, actor, false)
  } catch {
    say(note.dataset.changed, actor, true)
  }
}

// Several events come at once: one change of the page is enough.
function changed(actor) {
  clearTimeout(checking)
  checking = setTimeout(() => (isBusy() ? say(note.dataset.changed, actor, true) : refresh(actor)), 300)
}

// A change between the page and the stream, or while there was no stream.
async function check() {
  const request = fetch(note.dataset.source, { method: 'HEAD', cache: 'no-store' })
  const tag = (await request.catch(() => undefined))?.headers.get('etag')
  if (tag && tag !== `"${version}"`) changed(undefined)
}

function onEvent(event) {
  const { actor, dealVersion } = JSON.parse(event.data)
  // A deal that was given away has no version any more.
  if (dealVersion === undefined || dealVersion > version) changed(actor)
}

function begin() {
  if (stream || document.hidden) return
  stream = new EventSource(note.dataset.stream)
  stream.addEventListener('open', () => {
    pause = 5000
    void check()
  })
  stream.addEventListener('reset', check)
  for (const type of note.dataset.types.split(' ')) stream.addEventListener(type, onEvent)
  stream.addEventListener('error', () => {
    // The browser connects again by itself, unless it was refused.
    if (stream?.readyState !== EventSource.CLOSED) return
    end()
    retry = setTimeout(begin, pause)
    pause = Math.min(2 * pause, 60_000)
  })
}

function end() {
  clearTimeout(retry)
  stream?.close()
  stream = undefined
}

document.addEventListener('visibilitychange', () => (document.hidden ? end() : begin()))
window.addEventListener('pagehide', end)
window.addEventListener('pageshow', begin)
if (note) begin()
