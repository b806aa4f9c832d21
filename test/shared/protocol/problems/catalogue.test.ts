import { expect, it } from 'vitest'
import { explainedProblems, problemsOf, type ServerName } from '../../../../shared/protocol/problems/catalogue.ts'

const catalogue = explainedProblems(400)

const tableOf = (server: ServerName) =>
  Object.fromEntries(
    catalogue
      .filter(({ servers }) => servers.includes(server))
      .map(({ code, servers: _servers, ...entry }) => [code, entry]),
  )

it('explains exactly the codes that each server answers with', () => {
  expect(tableOf('auth')).toEqual(problemsOf('auth', 400))
  expect(tableOf('deal')).toEqual(problemsOf('deal', 400))
})

it('has each code once', () => {
  expect(new Set(catalogue.map(({ code }) => code)).size).toBe(catalogue.length)
})

it('says what each code means and what to do in whole sentences of their own', () => {
  const sentences = catalogue.flatMap(({ meaning, remedy }) => [meaning, remedy])
  expect(sentences.filter((text) => !/^[A-Z].{15,}\.$/.test(text))).toEqual([])
  const meanings = catalogue.map(({ meaning }) => meaning)
  expect(new Set(meanings).size).toBe(meanings.length)
})

it('shows the status that the operator chose for expired tokens, as the tables do', () => {
  const statusIn = (expiredTokenStatus: number) =>
    explainedProblems(expiredTokenStatus).find(({ code }) => code === 'token-expired')?.status
  expect([statusIn(400), statusIn(401)]).toEqual([400, 401])
  expect(problemsOf('auth', 401)['token-expired'].status).toBe(401)
  expect(problemsOf('deal', 401)['token-expired'].status).toBe(401)
})
