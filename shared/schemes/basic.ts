/** User name and password with each request (RFC 7617). */
import { Refused } from '../errors.ts'
import { type BasicCredential, parseBasicCredential } from './basic-credential.ts'
import { authorizationOf, isOfScript, realm, type Scheme } from './scheme.ts'

/** A user name and password as presented, and by whom. */
export interface PresentedBasic extends BasicCredential {
  /** The client's canonical address. */
  readonly clientAddress: string
}

/** Whose password it was. */
export interface ProvedUser {
  readonly username: string
  readonly userId: string
  /** The version of the user's principal record that the proof belongs to. */
  readonly version: number
}

export interface BasicPorts {
  /** Undefined for a user and password that do not fit. @throws Refused `too-many-attempts`; Unavailable */
  verify(presented: PresentedBasic): Promise<ProvedUser | undefined>
}

const challenge = `Basic realm="${realm}", charset="UTF-8"`

/** `Authorization: Basic <base64 of user-id ":" password in UTF-8>`. */
export const createBasicScheme = ({ verify }: BasicPorts): Scheme => ({
  name: 'basic',
  isSentByBrowsers: true,
  challenge: () => challenge,
  refusalHeaders: (call) => (isOfScript(call) ? {} : { 'www-authenticate': [challenge] }),
  find: (call) => authorizationOf(call, 'basic'),
  verify: async (text, call) => {
    const credential = parseBasicCredential(text)
    const headers = isOfScript(call) ? {} : { 'www-authenticate': [challenge] }
    const prove = async () => {
      const user = credential && (await verify({ ...credential, clientAddress: call.peer.address }))
      if (user) return user
      throw new Refused('invalid-credentials', 'The user name or the password is not right.', { headers })
    }
    const { username } = await prove()
    return {
      username,
      generation: undefined,
      loginId: undefined,
      expiresAt: undefined,
      recheck: async () => void (await prove()),
    }
  },
})
