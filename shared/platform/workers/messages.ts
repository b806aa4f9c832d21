/** The messages between a supervisor and its workers. */

/** What a supervisor sends to a worker. */
export type ToWorker =
  /** A connection that the supervisor has accepted comes with this message. */
  | { readonly kind: 'connection'; readonly connection: number }
  /** The server is about to end: `/readyz` says so. */
  | { readonly kind: 'draining' }
  /** No more connections follow: answer all requests, then end. */
  | { readonly kind: 'end' }
  /** The supervisor asks for the metrics of the worker. */
  | { readonly kind: 'read-metrics' }
  | { readonly kind: 'metrics-of-all'; readonly text: string }

/** What a worker sends to its supervisor. */
export type FromWorker =
  /** The worker serves. */
  | { readonly kind: 'ready' }
  /** The worker has this connection, and has read nothing of it before. */
  | { readonly kind: 'taken'; readonly connection: number }
  | { readonly kind: 'metrics'; readonly text: string }
  /** The worker asks for the metrics of all workers. */
  | { readonly kind: 'read-metrics-of-all' }
