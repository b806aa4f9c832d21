// Makes or uses a passkey with the options of a form, and sends the browser's answer in the form.

const { PublicKeyCredential: credentials } = window

const answerTo = async ({ kind, publicKey }) => {
  const options = JSON.parse(publicKey)
  if (kind === 'create') {
    return navigator.credentials.create({ publicKey: credentials.parseCreationOptionsFromJSON(options) })
  }
  return navigator.credentials.get({ publicKey: credentials.parseRequestOptionsFromJSON(options) })
}

for (const form of document.querySelectorAll('form[data-public-key]')) {
  if (!credentials?.parseRequestOptionsFromJSON) continue
  form.hidden = false
  const status = form.querySelector('[role="status"]')
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    try {
      const answer = await answerTo(form.dataset)
      form.elements.namedItem('passkey').value = JSON.stringify(answer.toJSON())
      form.submit()
    } catch {
      // The reader went back, or the device has no such passkey.
      status.textContent = status.dataset.failed
    }
  })
}
