/**
 * The Lua scripts of the Redis cache. Each is one atomic step and finds out itself in which run of the cache it runs,
 * so that an answer from before a restart or a failover cannot be mixed with data from after it.
 *
 * The id of a run is `<run_id>-<master_replid>`. Both parts are needed. The run_id changes with every start of a
 * process, but not when a master is demoted and promoted again, after another master has replicated data to it; the
 * replication id changes with every promotion. A replica has the replication id of its master, but a run_id of its own.
 * The replication id also changes when a master gets its first replica: the cache then starts empty once more than
 * necessary.
 *
 * The scripts call INFO and TIME before they write, which needs replication by effects: Redis 5 or newer. Numbers are
 * passed as strings, because Lua rounds large numbers when it prints them. `auth-server/cli/offline/redis-acl.ts` lists
 * the rights that a restricted Redis user needs.
 */

const prelude = `
local function current_run()
  local process = redis.call('INFO', 'server'):match('run_id:(%w+)')
  local replication = redis.call('INFO', 'replication'):match('master_replid:(%w+)')
  return process .. '-' .. replication
end
local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`

// KEYS: the entry. ARGV: version, value, time to live in milliseconds, '1' for only if absent, moment or ''.
const putVersioned = `${prelude}
local here = current_run()
if ARGV[5] ~= '' and ARGV[5]:match('^(%S+):%d+$') ~= here then return 0 end
local stored = redis.call('GET', KEYS[1])
if stored then
  local run, version = stored:match('^(%S+) (%d+) ')
  if run == here and (ARGV[4] == '1' or tonumber(version) > tonumber(ARGV[1])) then return 0 end
end
redis.call('SET', KEYS[1], here .. ' ' .. ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])
return 1
`

// KEYS: the entries. Returns for each of them {version, value} or nil.
const getVersioned = `${prelude}
local here = current_run()
local function get(key)
  local stored = redis.call('GET', key) or ''
  local _, last, run_then, version = stored:find('^(%S+) (%d+) ')
  return run_then == here and {version, stored:sub(last + 1)}
end
local answers = {}
for at = 1, #KEYS do answers[at] = get(KEYS[at]) end
return answers
`

// KEYS: the entry. ARGV: the version to remove. An empty text counts as no entry, and expires at once.
const removeVersion = `
local version = (redis.call('GET', KEYS[1]) or ''):match('^%S+ (%d+) ')
if version == ARGV[1] then redis.call('SET', KEYS[1], '', 'PX', 1) end
return 1
`

// KEYS: any key.
const time = `${prelude}
return current_run() .. ':' .. string.format('%.0f', milliseconds())
`

// KEYS: any key. ARGV: channel, message, cache time, greatest age in milliseconds.
const publish = `${prelude}
local then_run, then_milliseconds = ARGV[3]:match('^(%S+):(%d+)$')
if then_run ~= current_run() then return 0 end
local age = milliseconds() - tonumber(then_milliseconds)
if age < 0 or age > tonumber(ARGV[4]) then return 0 end
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
`

// KEYS: two for each limit: failures (a number that expires with its window), attempts in flight (sorted by the time
// until which they count). ARGV: the limits. Returns 0 for allowed, -1 for busy, else the milliseconds until the last
// window with too many failures ends.
const attempts = `${prelude}
local now = milliseconds()
local function verdict()
  local wait, busy = 0, false
  for at = 1, #KEYS, 2 do
    local limit = tonumber(ARGV[(at + 1) / 2])
    local failures = tonumber(redis.call('GET', KEYS[at]) or '0')
    if failures >= limit then wait = math.max(wait, 1, redis.call('PTTL', KEYS[at])) end
    busy = busy or failures + redis.call('ZCOUNT', KEYS[at + 1], string.format('(%.0f', now), '+inf') >= limit
  end
  if wait > 0 then return wait end
  return busy and -1 or 0
end
`

const allowsAttempt = `${attempts}
return verdict()
`

// Further ARGV: id, how long the attempt counts in milliseconds.
const beginAttempt = `${attempts}
local answer = verdict()
if answer ~= 0 then return answer end
local id, life = ARGV[#ARGV - 1], ARGV[#ARGV]
for at = 2, #KEYS, 2 do
  redis.call('ZREMRANGEBYSCORE', KEYS[at], '-inf', string.format('%.0f', now))
  redis.call('ZADD', KEYS[at], string.format('%.0f', now + tonumber(life)), id)
  redis.call('PEXPIRE', KEYS[at], life)
end
return 0
`

// KEYS: as above. ARGV: the lengths of the windows in milliseconds, id, '1' for a failure.
const endAttempt = `
for at = 1, #KEYS, 2 do
  redis.call('ZREM', KEYS[at + 1], ARGV[#ARGV - 1])
  if ARGV[#ARGV] == '1' and redis.call('INCR', KEYS[at]) == 1 then
    redis.call('PEXPIRE', KEYS[at], ARGV[(at + 1) / 2])
  end
end
return 1
`

// KEYS: the used numbers of each item: id of the run, highest number, and 64 marks, the first of which belongs to the
// highest number. Items may share a key. ARGV: number and time to live in milliseconds of each item. Returns for each
// item 1 for used now, 0 for refused, -1 for unknown.
const useNumbers = `${prelude}
local here = current_run()
local function use(key, number, life)
  local there, highest, marks = (redis.call('GET', key) or ''):match('^(%S+) (%d+) ([01]+)$')
  if there ~= here then return -1 end
  local ahead = number - tonumber(highest)
  if ahead <= -64 then return 0 end
  if ahead > 0 then
    highest = string.format('%.0f', number)
    marks = ('1' .. ('0'):rep(math.min(ahead, 64) - 1) .. marks):sub(1, 64)
  else
    if marks:sub(1 - ahead, 1 - ahead) == '1' then return 0 end
    marks = marks:sub(1, -ahead) .. '1' .. marks:sub(2 - ahead)
  end
  redis.call('SET', key, here .. ' ' .. highest .. ' ' .. marks, 'PX', life)
  return 1
end
local answers = {}
for at = 1, #KEYS do answers[at] = use(KEYS[at], tonumber(ARGV[2 * at - 1]), ARGV[2 * at]) end
return answers
`

// KEYS: the used numbers. ARGV: number, time to live in milliseconds.
const startNumbers = `${prelude}
redis.call('SET', KEYS[1], current_run() .. ' ' .. ARGV[1] .. ' 1' .. ('0'):rep(63), 'PX', ARGV[2])
return 1
`

/** The scripts for ioredis. It sends EVALSHA, and EVAL to a server that does not know the script yet. */
export const cacheScripts = {
  keyholdPutVersioned: { lua: putVersioned, numberOfKeys: 1 },
  keyholdGetVersioned: { lua: getVersioned },
  keyholdRemoveVersion: { lua: removeVersion, numberOfKeys: 1 },
  keyholdTime: { lua: time, numberOfKeys: 1 },
  keyholdPublish: { lua: publish, numberOfKeys: 1 },
  keyholdUseNumbers: { lua: useNumbers },
  keyholdStartNumbers: { lua: startNumbers, numberOfKeys: 1 },
  keyholdBeginAttempt: { lua: beginAttempt },
  keyholdEndAttempt: { lua: endAttempt },
  keyholdAllowsAttempt: { lua: allowsAttempt },
}

/** An entry as Redis answers it. */
export type StoredVersion = [version: string, value: string] | null

/** The methods that ioredis adds to a client for `cacheScripts`. */
export interface CacheScripts {
  keyholdPutVersioned(key: string, ...argv: string[]): Promise<number>
  keyholdGetVersioned(numberOfKeys: number, ...keys: string[]): Promise<StoredVersion[]>
  keyholdRemoveVersion(key: string, version: string): Promise<number>
  keyholdTime(key: string): Promise<string>
  keyholdPublish(key: string, ...argv: string[]): Promise<number>
  keyholdUseNumbers(numberOfKeys: number, ...keysAndArgv: string[]): Promise<number[]>
  keyholdStartNumbers(key: string, ...argv: string[]): Promise<number>
  keyholdBeginAttempt(numberOfKeys: number, ...keysAndArgv: string[]): Promise<number>
  keyholdEndAttempt(numberOfKeys: number, ...keysAndArgv: string[]): Promise<number>
  keyholdAllowsAttempt(numberOfKeys: number, ...keysAndArgv: string[]): Promise<number>
}
