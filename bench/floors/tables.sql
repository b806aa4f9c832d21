-- The tables of the floors: one row as long as a deal of Keyhold, with its primary key and nothing else.
create table deals (
  id uuid primary key,
  name text not null,
  price bigint not null,
  currency char(3) not null,
  owner_id text not null,
  status text not null,
  held boolean not null,
  hold_reason text,
  version integer not null,
  created_at timestamptz(3) not null,
  created_by text not null,
  updated_at timestamptz(3) not null,
  updated_by text not null
) with (fillfactor = 80);

create table events (
  id bigserial primary key,
  deal_id uuid not null,
  version integer not null,
  type text not null,
  data json not null,
  occurred_at timestamptz(3) not null
);

-- One row for each command with an id: its outcome is kept for a repetition of the command.
create table commands (
  id text primary key,
  deal_id uuid not null,
  outcome json not null,
  expires_at timestamptz(3) not null
);

-- Holds or unholds a deal, and returns it: one commit writes the deal, an event and, with an id, the command.
create function hold_deal(deal uuid, is_held boolean, reason text, command text) returns json language plpgsql as $$
declare
  changed json;
begin
  update deals
    set held = is_held, hold_reason = reason, version = version + 1, updated_at = now()
    where id = deal returning row_to_json(deals) into changed;
  insert into events (deal_id, version, type, data, occurred_at)
    values (deal, (changed ->> 'version')::integer, case when is_held then 'deal.held' else 'deal.unheld' end,
      json_build_object('reason', reason), now());
  if command is not null then
    insert into commands values (command, deal, changed, now() + interval '1 day');
  end if;
  return changed;
end $$;
