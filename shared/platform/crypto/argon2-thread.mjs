// The thread that `argon2-threads.ts` starts. A file of JavaScript, so that no thread has to load a compiler.
import { pbkdf2Sync, scryptSync } from 'node:crypto'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { hashRawSync, hashSync, verifySync } from '@node-rs/argon2'

// On Linux the priority is that of the calling thread; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(5)

const operations = {
  hash: hashSync,
  verify: verifySync,
  hashRaw: hashRawSync,
  scrypt: scryptSync,
  pbkdf2: pbkdf2Sync,
  // Most servers never meet such a hash.
  verifyBcrypt: async (hash, password) => (await import('@node-rs/bcrypt')).verifySync(password, hash),
}

parentPort.on('message', async ({ operation, parameters }) => {
  try {
    parentPort.postMessage({ result: await operations[operation](...parameters) })
  } catch (error) {
    parentPort.postMessage({ error: error instanceof Error ? error.message : 'unknown error' })
  }
})
