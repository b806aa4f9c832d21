/** The part of `oidc-provider` that the tests use: the package brings no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
    readonly Grant: new (of: {
      clientId: string
      accountId: string
    }) => {
      addOIDCScope(scope: string): void
      addResourceScope(resource: string, scope: string): void
      save(): Promise<string>
    }
  }
  export const errors: { readonly InvalidTarget: new () => Error }
  export const interactionPolicy: {
    base(): { get(prompt: string): { readonly checks: { remove(name: string): void } } | undefined }
  }
}
