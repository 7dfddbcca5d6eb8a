-- Who did what to keys, connections and data, and what was denied to whom.
create table audit_events (
  id text collate "C" primary key,
  at timestamptz not null,
  action text not null,
  outcome text not null check (outcome in ('done', 'denied', 'failed')),
  status integer not null,
  -- Null: no key, or an unknown one.
  key_id text,
  key_name text,
  address text,
  -- Id of what it was done to; of what was denied: method and route.
  target text,
  -- How often, for what was denied again and again within a minute.
  count integer not null default 1
);
create index audit_events_by_age on audit_events (at);
