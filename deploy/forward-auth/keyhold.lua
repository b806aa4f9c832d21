-- The action lua.keyhold of haproxy.cfg: asks GET /verify about the request. The variable txn.keyhold_question has the
-- rest of the question, such as right=invoice.approve&token=1. HAProxy 2.5 or newer; no other Lua module is needed.

local verify = os.getenv("KEYHOLD_VERIFY")

-- Fields of the client that are not passed on: of its connection, and those that are written below.
local own = {}
for name in string.gmatch([[
  connection content-length expect host keep-alive proxy-connection te trailer transfer-encoding
  forwarded x-real-ip x-forwarded-for x-forwarded-proto x-forwarded-host x-forwarded-method x-forwarded-uri
]], "%S+") do own[name] = true end

-- Fields of a refusal that the client gets.
local passed_on = { "www-authenticate", "authentication-info", "content-type", "cache-control", "retry-after",
  "set-cookie", "x-request-id" }

-- The values of a field, from 1 on, where HAProxy counts from 0.
local function lines_of(values)
  local lines, index = {}, 0
  while values[index] ~= nil do
    lines[index + 1] = values[index]
    index = index + 1
  end
  return lines
end

local function refuse(txn, status, headers, body)
  local reply = txn:reply { status = status, body = body }
  for _, name in ipairs(passed_on) do
    for _, value in ipairs(lines_of(headers[name] or {})) do reply:add_header(name, value) end
  end
  txn:done(reply)
end

-- The length of the body, where it is known. Without it, signatures that must bind a body are refused.
local function body_length(headers, version)
  local length = headers["content-length"]
  if headers["transfer-encoding"] ~= nil then return "" end
  if length ~= nil then return length[0] end
  return version:sub(1, 1) == "1" and "0" or ""
end

core.register_action("keyhold", { "http-req" }, function(txn)
  local headers = txn.http:req_get_headers()
  local asked = {}
  for name, values in pairs(headers) do
    if not own[name] then asked[name] = lines_of(values) end
  end
  -- An auth server that listens on loopback serves its own names alone.
  asked["host"] = { "localhost" }
  asked["x-forwarded-for"] = { txn.f:src() }
  asked["x-forwarded-proto"] = { txn.f:ssl_fc() == 1 and "https" or "http" }
  asked["x-forwarded-host"] = lines_of(headers["host"] or {})
  asked["x-forwarded-method"] = { txn.f:method() }
  asked["x-forwarded-uri"] = { txn.f:pathq() }
  local question = txn:get_var("txn.keyhold_question") or ""
  local url = verify .. "?bodyLength=" .. body_length(headers, txn.f:req_ver()) .. "&" .. question
  local answer = core.httpclient():get { url = url, headers = asked, timeout = 5000 }
  local status = answer ~= nil and answer.status
  if status == 401 or status == 403 or status == 429 then
    return refuse(txn, status, answer.headers, answer.body)
  end
  -- A 200 of another route would name nobody.
  if status ~= 200 or answer.headers["keyhold-user"] == nil then
    return refuse(txn, 503, { ["retry-after"] = { [0] = "1" } }, "")
  end
  for name, values in pairs(answer.headers) do
    if name:sub(1, 8) == "keyhold-" then txn.http:req_set_header(name, values[0]) end
  end
end)
