// Copies and saves secrets that a page shows once. Nothing of them goes into an address.

const textOf = (id) => document.getElementById(id).textContent

for (const button of document.querySelectorAll('button[data-copy]')) {
  const status = button.parentElement.querySelector('[role="status"]')
  button.hidden = false
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(textOf(button.dataset.copy))
      status.textContent = status.dataset.copied
    } catch {
      // Browsers refuse the clipboard to pages without TLS: the text is marked instead.
      window.getSelection().selectAllChildren(document.getElementById(button.dataset.copy))
      status.textContent = status.dataset.notCopied
    }
  })
}

for (const button of document.querySelectorAll('button[data-save]')) {
  button.hidden = false
  button.addEventListener('click', () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([textOf(button.dataset.save)], { type: 'application/x-pem-file' }))
    link.download = button.dataset.fileName
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 1000)
  })
}
