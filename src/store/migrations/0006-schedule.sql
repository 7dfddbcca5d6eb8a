-- Allowed hours of connections, hooks of sources, and what arrives by push.

-- Windows in which it syncs by itself, e.g. `22:00-06:00 Europe/Berlin`; null: at any time.
alter table connections add column allowed_hours text;
create index connections_by_account on connections (provider, account_id) where account_id is not null;

-- How the source is to report changes of a connection.
create table hook_registrations (
  connection_id text collate "C" primary key references connections on delete cascade,
  -- Sealed JSON object: what the source signs its requests with.
  secret text not null,
  -- Hash of the address and selection that the subscriptions were made for; null: there are none.
  target text,
  failures integer not null default 0,
  problem text,
  -- When it is to be looked at again: to renew, or to try again.
  next_try timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index hook_registrations_due on hook_registrations (next_try);

create table hook_subscriptions (
  connection_id text collate "C" not null references hook_registrations on delete cascade,
  -- As the source names it.
  id text collate "C" not null,
  expires_at timestamptz,
  state jsonb,
  created_at timestamptz not null,
  primary key (connection_id, id)
);

-- Requests that sources have sent, so that a repeated one does nothing.
create table hook_deliveries (
  -- Id of a connection, or name of a provider.
  scope text collate "C" not null,
  delivery_id text collate "C" not null,
  received_at timestamptz not null,
  primary key (scope, delivery_id)
);
create index hook_deliveries_by_age on hook_deliveries (received_at);

-- Pushes that were taken, so that a repeated one gets the same answer.
create table push_deliveries (
  connection_id text collate "C" not null references connections on delete cascade,
  delivery_id text collate "C" not null,
  -- SHA-256 (base64) of what was sent.
  body_hash text not null,
  answer jsonb not null,
  received_at timestamptz not null,
  primary key (connection_id, delivery_id)
);
create index push_deliveries_by_age on push_deliveries (received_at);

-- Complete snapshots that arrive in pages.
create table push_snapshots (
  connection_id text collate "C" not null references connections on delete cascade,
  -- As the caller names it.
  id text collate "C" not null,
  state text not null check (state in ('open', 'completed', 'abandoned')),
  -- Items that the snapshot showed have this epoch or a later one.
  epoch integer not null,
  run_id text collate "C" not null,
  next_page integer not null default 1,
  -- Why nothing may be removed when it is completed.
  incomplete text,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (connection_id, id)
);
create unique index push_snapshots_open on push_snapshots (connection_id) where state = 'open';
create index push_snapshots_by_age on push_snapshots (updated_at);
