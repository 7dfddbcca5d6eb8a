-- Secrets of connections, and authorizations that wait for the user's consent.
-- What is called sealed is encrypted by src/base/encryption.ts; the database never sees its text.

create table credentials (
  connection_id text collate "C" primary key references connections (id) on delete cascade,
  -- How the connection is authorized; `none`: it only has secret settings.
  kind text not null check (kind in ('none', 'oauth2', 'xoauth2', 'apiKey', 'basic', 'serviceAccount', 'githubApp')),
  -- Sealed JSON object: secret settings and what the user gave to authorize.
  fields text,
  -- Sealed JSON object: access token, refresh token, and the client they were issued to.
  token text,
  -- A new token can be had without the user.
  renewable boolean not null default false,
  expires_at timestamptz,
  -- From here on it is renewed before use.
  renew_at timestamptz,
  renewed_at timestamptz,
  -- Counts what was stored in `token`: what is renewed is compared with it, then set.
  version integer not null default 1,
  -- Who renews, and until when nobody else does.
  lock_owner text,
  lock_until timestamptz,
  -- A renewal was begun whose outcome is not known; its refresh token may be spent.
  renewing_since timestamptz,
  -- No renewal is tried before.
  cool_down_until timestamptz,
  failure text,
  -- The source said that the grant is gone: nothing is tried until there is a new one.
  denied boolean not null default false,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index credentials_idle on credentials (renewed_at) where renewable and not denied;

create table pending_authorizations (
  -- SHA-256 of the state as hex; the state itself is only in the consent link.
  state_hash text collate "C" primary key,
  provider text not null,
  -- The id that the connection will have, or of the one that is authorized again.
  connection_id text collate "C" not null,
  -- Sealed JSON object: proof key, and what the connection is made from. Null once it is used.
  request text,
  redirect_url text,
  outcome text check (outcome in ('connected', 'access_denied', 'exchange_failed')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index pending_authorizations_by_connection on pending_authorizations (connection_id);
create index pending_authorizations_by_end on pending_authorizations (expires_at);
