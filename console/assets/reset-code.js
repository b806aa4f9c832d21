// Takes the code of a one-time link out of the address: it must not stay in the history of the browser.
const code = location.hash.slice(1)
const field = document.getElementById('code')
if (/^[A-Za-z0-9_-]+$/.test(code) && field && !field.value) field.value = code
if (location.hash) history.replaceState(null, '', location.pathname + location.search)
