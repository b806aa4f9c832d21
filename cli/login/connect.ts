import { bearer, createKeyhold, type Keyhold } from '../../client/src/index.ts'
import { type LoginFile, NoLogin, tokenStoreOf } from './login-file.ts'

/** A client of the servers of the login that is kept. @throws NoLogin */
export async function connect(file: LoginFile): Promise<Keyhold> {
  const login = await file.read()
  if (!login) throw new NoLogin()
  const { authUrl, dealUrl, tokens, clientId } = login
  const ofClient = clientId === undefined ? {} : { clientId }
  const credential = bearer({ tokens, store: tokenStoreOf(file, login), ...ofClient })
  return createKeyhold({ authUrl, dealUrl, credential })
}
