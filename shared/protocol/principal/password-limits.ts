/**
 * The largest password, in bytes of its NFC-normalised UTF-8 form, which is the form that is hashed (RFC 8265 §4.2). A
 * longer one is never hashed.
 */
export const maxPasswordBytes = 1024

/** True for a password that no user can have. It is refused without hashing it. */
export const exceedsPasswordLimit = (password: string): boolean =>
  password.length > maxPasswordBytes || Buffer.byteLength(password.normalize('NFC')) > maxPasswordBytes
