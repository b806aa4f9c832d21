/** In bytes of the NFC-normalised UTF-8 form, which is also what is hashed (RFC 8265 §4.2); nothing longer is ever hashed. */
export const maxPasswordBytes = 1024

/** True for a password that no user can have, so that it need not be hashed to be refused. */
export const exceedsPasswordLimit = (password: string): boolean =>
  password.length > maxPasswordBytes || Buffer.byteLength(password.normalize('NFC')) > maxPasswordBytes
