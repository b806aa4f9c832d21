// Starts Swagger UI on the document that the page names. A file of its own: the page's policy allows no script in the
// page.
const root = document.getElementById('swagger-ui')

// The page may have been opened under another name of the server, such as localhost.
document.getElementById('elsewhere').hidden = root.dataset.origin === window.location.origin

window.SwaggerUIBundle({
  domNode: root,
  url: root.dataset.document,
  // There are many operations: tags first.
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: true,
  // No badge: it would be fetched from elsewhere.
  validatorUrl: null,
})
