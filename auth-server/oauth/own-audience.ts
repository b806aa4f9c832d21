/**
 * The audience that the parameter `resource` of a request chooses (RFC 8707 §2). Null: that of the pair, also without
 * `resource`. Undefined: no server has this audience.
 */
export type AudienceOf = (resource: string | undefined) => Promise<string | null | undefined>

/** The settings that name the audience of the pair: AUDIENCE, and the public origins. */
export interface OwnAudienceSettings {
  readonly audience: string
  readonly publicOrigins: Readonly<Record<string, string>>
}

/** Creates the choice for a pair that is its only resource server. */
export function createOwnAudience({ audience, publicOrigins }: OwnAudienceSettings): AudienceOf {
  const names = new Set([audience, ...Object.values(publicOrigins).flatMap((origin) => [origin, `${origin}/`])])
  return async (resource) => (resource === undefined || names.has(resource) ? null : undefined)
}
