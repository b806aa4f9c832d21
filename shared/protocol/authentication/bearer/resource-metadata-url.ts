/** The path of the metadata of a protected resource (RFC 9728 §3). */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource'

/** Its URL, as the challenges of Bearer name it (RFC 9728 §5.1). */
export const resourceMetadataUrl = (publicOrigin: string): string => publicOrigin + resourceMetadataPath
