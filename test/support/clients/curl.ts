import { execFile } from 'node:child_process'

/** What curl printed of an answer, the last one of an exchange. */
export interface CurlResponse {
  readonly status: number
  readonly body: string
}

/** Runs curl with these arguments. @throws Error when it fails without an answer */
export const curl = (args: readonly string[]): Promise<CurlResponse> =>
  new Promise((resolve, reject) => {
    const all = ['-s', '-S', '--max-time', '20', '-w', '\n%{http_code}', ...args]
    execFile('curl', all, (error, stdout, stderr) => {
      if (error) return reject(new Error(stderr || error.message))
      const end = stdout.lastIndexOf('\n')
      resolve({ status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) })
    })
  })
