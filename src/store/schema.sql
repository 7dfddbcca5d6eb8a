-- The schema after all migrations. Made by `node scripts/dump-schema.ts`; do not edit.

create extension vector;

create table api_keys (
  id text collate "C" not null,
  name text not null,
  kind text not null,
  permission text not null,
  hash text not null,
  prefix text not null,
  grants jsonb not null default '[]'::jsonb,
  enabled boolean not null default true,
  rate_limit_max integer,
  rate_limit_window_ms integer,
  created_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash),
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['full'::text, 'scoped'::text]))),
  constraint api_keys_permission_check CHECK ((permission = ANY (ARRAY['read'::text, 'write'::text])))
);

create table budgets (
  scope text collate "C" not null,
  class text collate "C" not null,
  state jsonb not null,
  updated_at timestamp with time zone not null,
  constraint budgets_pkey PRIMARY KEY (scope, class)
) with (fillfactor=50);

create table chunks (
  id text collate "C" not null,
  document_id text collate "C" not null,
  container_tag text collate "C" not null,
  "position" integer not null,
  content text not null,
  context text,
  type text not null default 'text'::text,
  metadata jsonb not null default '{}'::jsonb,
  token_count integer not null,
  content_hash text not null,
  terms text[] collate "C" not null,
  term_counts smallint[] not null,
  term_total integer not null,
  embedding vector,
  embedding_model text,
  created_at timestamp with time zone not null,
  constraint chunks_pkey PRIMARY KEY (id),
  constraint chunks_document_id_position_key UNIQUE (document_id, "position") DEFERRABLE INITIALLY DEFERRED,
  constraint chunks_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id) ON DELETE CASCADE
) with (toast_tuple_target=4080);
CREATE INDEX chunks_by_container ON public.chunks USING btree (container_tag);
CREATE INDEX chunks_by_term ON public.chunks USING gin (terms);

create table connections (
  id text collate "C" not null,
  provider text not null,
  container_tag text collate "C" not null,
  status text not null,
  status_reason text,
  account_id text,
  email text,
  config jsonb not null default '{}'::jsonb,
  metadata jsonb not null default '{}'::jsonb,
  selection jsonb not null default '[]'::jsonb,
  filters jsonb not null default '{}'::jsonb,
  document_limit integer,
  on_source_delete text not null default 'delete'::text,
  schedule text,
  sync_every_ms bigint,
  next_sync_at timestamp with time zone,
  requested_sync jsonb,
  failures integer not null default 0,
  last_synced_at timestamp with time zone,
  expires_at timestamp with time zone,
  lease_token text,
  lease_until timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  running_sync jsonb,
  allowed_hours text,
  constraint connections_pkey PRIMARY KEY (id),
  constraint connections_on_source_delete_check CHECK ((on_source_delete = ANY (ARRAY['delete'::text, 'keep'::text]))),
  constraint connections_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'needs_reauth'::text, 'needs_configuration'::text, 'deleting'::text])))
);
CREATE INDEX connections_by_account ON public.connections USING btree (provider, account_id) WHERE (account_id IS NOT NULL);
CREATE INDEX connections_by_container ON public.connections USING btree (container_tag);
CREATE INDEX connections_due ON public.connections USING btree (next_sync_at) WHERE (status = 'active'::text);

create table container_merges (
  id text collate "C" not null,
  source_tags text[] not null,
  target_tag text collate "C" not null,
  status text not null,
  progress jsonb,
  last_error text,
  attempts integer not null default 0,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint container_merges_pkey PRIMARY KEY (id),
  constraint container_merges_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'waiting_for_ingest'::text, 'copying_vectors'::text, 'db_committing'::text, 'cleanup_pending'::text, 'completed'::text, 'failed'::text])))
);
CREATE INDEX container_merges_open ON public.container_merges USING btree (id) WHERE (finished_at IS NULL);

create table container_tags (
  tag text collate "C" not null,
  id text collate "C" not null,
  name text,
  description text,
  entity_context text,
  memory_filesystem_paths text[],
  profile_buckets jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint container_tags_pkey PRIMARY KEY (tag),
  constraint container_tags_id_key UNIQUE (id)
);

create table credentials (
  connection_id text collate "C" not null,
  kind text not null,
  fields text,
  token text,
  renewable boolean not null default false,
  expires_at timestamp with time zone,
  renew_at timestamp with time zone,
  renewed_at timestamp with time zone,
  version integer not null default 1,
  lock_owner text,
  lock_until timestamp with time zone,
  renewing_since timestamp with time zone,
  cool_down_until timestamp with time zone,
  failure text,
  denied boolean not null default false,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint credentials_pkey PRIMARY KEY (connection_id),
  constraint credentials_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE,
  constraint credentials_kind_check CHECK ((kind = ANY (ARRAY['none'::text, 'oauth2'::text, 'xoauth2'::text, 'apiKey'::text, 'basic'::text, 'serviceAccount'::text, 'githubApp'::text])))
);
CREATE INDEX credentials_idle ON public.credentials USING btree (renewed_at) WHERE (renewable AND (NOT denied));

create table document_contents (
  document_id text collate "C" not null,
  kind text not null,
  raw text,
  content text,
  bytes bytea,
  mime_type text,
  file_name text,
  keep_bytes boolean not null default false,
  messages jsonb,
  constraint document_contents_pkey PRIMARY KEY (document_id),
  constraint document_contents_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id) ON DELETE CASCADE,
  constraint document_contents_kind_check CHECK ((kind = ANY (ARRAY['text'::text, 'markdown'::text, 'html'::text, 'url'::text, 'file'::text, 'conversation'::text])))
);

create table documents (
  id text collate "C" not null,
  container_tag text collate "C" not null,
  custom_id text collate "C",
  connection_id text collate "C",
  revision integer not null default 1,
  status text not null,
  dreaming_status text not null default 'done'::text,
  dreaming text not null default 'dynamic'::text,
  task_type text not null default 'memory'::text,
  type text not null,
  source text,
  title text,
  given_title text,
  summary text,
  url text,
  og_image text,
  filepath text,
  metadata jsonb not null default '{}'::jsonb,
  document_date timestamp with time zone,
  filter_by_metadata jsonb,
  content_hash text not null,
  text_hash text,
  attempts integer not null default 0,
  redrives integer not null default 0,
  next_attempt_at timestamp with time zone,
  lease_token text,
  error_code text,
  error_message text,
  deleted_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_rev text,
  dream_attempts integer not null default 0,
  dream_at timestamp with time zone,
  container_tags text[],
  constraint documents_pkey PRIMARY KEY (id),
  constraint documents_dreaming_check CHECK ((dreaming = ANY (ARRAY['instant'::text, 'dynamic'::text]))),
  constraint documents_dreaming_status_check CHECK ((dreaming_status = ANY (ARRAY['dreaming'::text, 'done'::text]))),
  constraint documents_status_check CHECK ((status = ANY (ARRAY['unknown'::text, 'queued'::text, 'extracting'::text, 'chunking'::text, 'embedding'::text, 'indexing'::text, 'done'::text, 'failed'::text]))),
  constraint documents_task_type_check CHECK ((task_type = ANY (ARRAY['memory'::text, 'superrag'::text])))
) with (fillfactor=85);
CREATE INDEX documents_by_connection ON public.documents USING btree (connection_id) WHERE (connection_id IS NOT NULL);
CREATE INDEX documents_by_container ON public.documents USING btree (container_tag, created_at, id);
CREATE UNIQUE INDEX documents_by_custom_id ON public.documents USING btree (custom_id, container_tag) WHERE ((custom_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX documents_deleted ON public.documents USING btree (id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX documents_deleted_by_custom_id ON public.documents USING btree (container_tag, custom_id) WHERE ((deleted_at IS NOT NULL) AND (custom_id IS NOT NULL));
CREATE INDEX documents_dreaming ON public.documents USING btree (container_tag, updated_at) WHERE (dreaming_status = 'dreaming'::text);
CREATE INDEX documents_failed ON public.documents USING btree (next_attempt_at) WHERE ((status = 'failed'::text) AND (deleted_at IS NULL));
CREATE INDEX documents_work ON public.documents USING btree (next_attempt_at, id) WHERE ((status <> ALL (ARRAY['done'::text, 'failed'::text, 'unknown'::text])) AND (deleted_at IS NULL));

create table hook_deliveries (
  scope text collate "C" not null,
  delivery_id text collate "C" not null,
  received_at timestamp with time zone not null,
  constraint hook_deliveries_pkey PRIMARY KEY (scope, delivery_id)
);
CREATE INDEX hook_deliveries_by_age ON public.hook_deliveries USING btree (received_at);

create table hook_registrations (
  connection_id text collate "C" not null,
  secret text not null,
  target text,
  failures integer not null default 0,
  problem text,
  next_try timestamp with time zone not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint hook_registrations_pkey PRIMARY KEY (connection_id),
  constraint hook_registrations_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);
CREATE INDEX hook_registrations_due ON public.hook_registrations USING btree (next_try);

create table hook_subscriptions (
  connection_id text collate "C" not null,
  id text collate "C" not null,
  expires_at timestamp with time zone,
  state jsonb,
  created_at timestamp with time zone not null,
  constraint hook_subscriptions_pkey PRIMARY KEY (connection_id, id),
  constraint hook_subscriptions_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES hook_registrations(connection_id) ON DELETE CASCADE
);

create table http_answers (
  connection_id text collate "C" not null,
  key text collate "C" not null,
  etag text,
  last_modified text,
  headers jsonb not null,
  body bytea not null,
  used_at timestamp with time zone not null,
  constraint http_answers_pkey PRIMARY KEY (connection_id, key),
  constraint http_answers_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);

create table leases (
  name text not null,
  holder text not null,
  lease_until timestamp with time zone not null,
  constraint leases_pkey PRIMARY KEY (name)
);

create table memories (
  id text collate "C" not null,
  container_tag text collate "C" not null,
  memory text not null,
  metadata jsonb,
  temporal_context jsonb,
  kind text,
  subject text,
  slot text,
  buckets text[] not null default '{}'::text[],
  is_static boolean not null default false,
  is_inference boolean not null default false,
  is_latest boolean not null default true,
  is_forgotten boolean not null default false,
  review_status text,
  version integer not null default 1,
  parent_memory_id text collate "C",
  root_memory_id text collate "C",
  forget_after timestamp with time zone,
  forget_reason text,
  forget_batch_id text,
  content_hash text not null,
  terms text[] collate "C" not null,
  term_counts smallint[] not null,
  term_total integer not null,
  embedding vector,
  embedding_model text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  extractor text,
  slot_value text,
  constraint memories_pkey PRIMARY KEY (id)
) with (toast_tuple_target=4080);
CREATE INDEX memories_by_container ON public.memories USING btree (container_tag, created_at) WHERE (is_latest AND (NOT is_forgotten));
CREATE INDEX memories_by_hash ON public.memories USING btree (container_tag, content_hash) WHERE is_latest;
CREATE INDEX memories_by_root ON public.memories USING btree (root_memory_id) WHERE (root_memory_id IS NOT NULL);
CREATE INDEX memories_by_subject ON public.memories USING btree (container_tag, subject) WHERE (is_latest AND (NOT is_forgotten));
CREATE INDEX memories_by_term ON public.memories USING gin (terms);
CREATE INDEX memories_to_forget ON public.memories USING btree (forget_after) WHERE ((NOT is_forgotten) AND (forget_after IS NOT NULL));

create table memory_relations (
  from_id text collate "C" not null,
  to_id text collate "C" not null,
  relation text not null,
  created_at timestamp with time zone not null,
  constraint memory_relations_pkey PRIMARY KEY (from_id, to_id),
  constraint memory_relations_from_id_fkey FOREIGN KEY (from_id) REFERENCES memories(id) ON DELETE CASCADE,
  constraint memory_relations_to_id_fkey FOREIGN KEY (to_id) REFERENCES memories(id) ON DELETE CASCADE,
  constraint memory_relations_relation_check CHECK ((relation = ANY (ARRAY['updates'::text, 'extends'::text, 'derives'::text])))
);
CREATE INDEX memory_relations_by_target ON public.memory_relations USING btree (to_id);

create table memory_sources (
  memory_id text collate "C" not null,
  document_id text collate "C" not null,
  span jsonb,
  created_at timestamp with time zone not null,
  constraint memory_sources_pkey PRIMARY KEY (memory_id, document_id),
  constraint memory_sources_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id) ON DELETE CASCADE,
  constraint memory_sources_memory_id_fkey FOREIGN KEY (memory_id) REFERENCES memories(id) ON DELETE CASCADE
);
CREATE INDEX memory_sources_by_document ON public.memory_sources USING btree (document_id);

create table partition_records (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  name text collate "C" not null,
  value jsonb not null,
  constraint partition_records_pkey PRIMARY KEY (connection_id, partition_id, name),
  constraint partition_records_connection_id_partition_id_fkey FOREIGN KEY (connection_id, partition_id) REFERENCES partitions(connection_id, id) ON DELETE CASCADE
);

create table partitions (
  connection_id text collate "C" not null,
  id text collate "C" not null,
  title text,
  resource text,
  state text not null default 'new'::text,
  state_reason text,
  epoch integer not null default 0,
  parked_head jsonb,
  listing_cursor jsonb,
  listing_started_at timestamp with time zone,
  listing_incomplete text,
  "position" jsonb,
  parked_until timestamp with time zone,
  last_listed_at timestamp with time zone,
  held_sweep jsonb,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  problem text,
  failures integer not null default 0,
  listed_run text,
  listing_shown boolean not null default false,
  scope_key text not null default ''::text,
  missing_since timestamp with time zone,
  remove_at timestamp with time zone,
  constraint partitions_pkey PRIMARY KEY (connection_id, id),
  constraint partitions_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE,
  constraint partitions_state_check CHECK ((state = ANY (ARRAY['new'::text, 'backfill'::text, 'delta'::text, 'relist'::text, 'parked'::text, 'paused'::text, 'removing'::text])))
);

create table pending_authorizations (
  state_hash text collate "C" not null,
  provider text not null,
  connection_id text collate "C" not null,
  request text,
  redirect_url text,
  outcome text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint pending_authorizations_pkey PRIMARY KEY (state_hash),
  constraint pending_authorizations_outcome_check CHECK ((outcome = ANY (ARRAY['connected'::text, 'access_denied'::text, 'exchange_failed'::text])))
);
CREATE INDEX pending_authorizations_by_connection ON public.pending_authorizations USING btree (connection_id);
CREATE INDEX pending_authorizations_by_end ON public.pending_authorizations USING btree (expires_at);

create table push_deliveries (
  connection_id text collate "C" not null,
  delivery_id text collate "C" not null,
  body_hash text not null,
  answer jsonb not null,
  received_at timestamp with time zone not null,
  constraint push_deliveries_pkey PRIMARY KEY (connection_id, delivery_id),
  constraint push_deliveries_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE
);
CREATE INDEX push_deliveries_by_age ON public.push_deliveries USING btree (received_at);

create table push_snapshots (
  connection_id text collate "C" not null,
  id text collate "C" not null,
  state text not null,
  epoch integer not null,
  run_id text collate "C" not null,
  next_page integer not null default 1,
  incomplete text,
  started_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  constraint push_snapshots_pkey PRIMARY KEY (connection_id, id),
  constraint push_snapshots_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE,
  constraint push_snapshots_state_check CHECK ((state = ANY (ARRAY['open'::text, 'completed'::text, 'abandoned'::text])))
);
CREATE INDEX push_snapshots_by_age ON public.push_snapshots USING btree (updated_at);
CREATE UNIQUE INDEX push_snapshots_open ON public.push_snapshots USING btree (connection_id) WHERE (state = 'open'::text);

create table schema_migrations (
  number integer not null,
  name text not null,
  hash text not null,
  breaking boolean not null,
  applied_at timestamp with time zone not null default now(),
  constraint schema_migrations_pkey PRIMARY KEY (number)
);

create table settings (
  key text not null,
  value jsonb not null,
  updated_at timestamp with time zone not null,
  constraint settings_pkey PRIMARY KEY (key)
);

create table sync_item_documents (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  ext_id text collate "C" not null,
  rev text not null,
  document text not null,
  constraint sync_item_documents_pkey PRIMARY KEY (connection_id, partition_id, ext_id),
  constraint sync_item_documents_connection_id_partition_id_fkey FOREIGN KEY (connection_id, partition_id) REFERENCES partitions(connection_id, id) ON DELETE CASCADE
);

create table sync_items (
  connection_id text collate "C" not null,
  partition_id text collate "C" not null,
  ext_id text collate "C" not null,
  custom_id text collate "C" not null,
  kind text not null default 'document'::text,
  rev text,
  want_rev text not null,
  state text not null,
  attempts integer not null default 0,
  next_try timestamp with time zone,
  error_class text,
  error text,
  document_id text collate "C",
  text_hash text,
  fingerprint text collate "C",
  seen_epoch integer not null,
  parent text collate "C",
  access_hash text,
  ref jsonb not null default '{}'::jsonb,
  lease_token text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  source_updated_at timestamp with time zone,
  constraint sync_items_pkey PRIMARY KEY (connection_id, partition_id, ext_id),
  constraint sync_items_connection_id_partition_id_fkey FOREIGN KEY (connection_id, partition_id) REFERENCES partitions(connection_id, id) ON DELETE CASCADE,
  constraint sync_items_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'held'::text, 'fetching'::text, 'done'::text, 'failed'::text, 'skipped'::text, 'suppressed'::text, 'gone'::text])))
) with (fillfactor=80);
CREATE INDEX sync_items_by_document ON public.sync_items USING btree (document_id) WHERE (document_id IS NOT NULL);
CREATE INDEX sync_items_by_fingerprint ON public.sync_items USING btree (connection_id, partition_id, fingerprint) WHERE (fingerprint IS NOT NULL);
CREATE INDEX sync_items_containers ON public.sync_items USING btree (connection_id, partition_id, parent) WHERE (kind = 'container'::text);
CREATE INDEX sync_items_to_remove ON public.sync_items USING btree (connection_id, partition_id) WHERE ((state = 'skipped'::text) AND (document_id IS NOT NULL));
CREATE INDEX sync_items_work ON public.sync_items USING btree (connection_id, partition_id, next_try) WHERE (state = ANY (ARRAY['pending'::text, 'held'::text, 'fetching'::text, 'failed'::text, 'gone'::text]));

create table sync_runs (
  id text collate "C" not null,
  connection_id text collate "C" not null,
  status text not null,
  mode text not null,
  trigger_type text not null,
  dry_run boolean not null default false,
  items_seen integer not null default 0,
  items_processed integer not null default 0,
  items_added integer not null default 0,
  items_updated integer not null default 0,
  items_deleted integer not null default 0,
  items_skipped integer not null default 0,
  items_failed integer not null default 0,
  items_total integer,
  error text,
  error_code text,
  failures jsonb not null default '[]'::jsonb,
  started_at timestamp with time zone not null,
  heartbeat_at timestamp with time zone not null,
  completed_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  warnings jsonb not null default '[]'::jsonb,
  items_per_second double precision,
  report jsonb,
  constraint sync_runs_pkey PRIMARY KEY (id),
  constraint sync_runs_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connections(id) ON DELETE CASCADE,
  constraint sync_runs_mode_check CHECK ((mode = ANY (ARRAY['full'::text, 'incremental'::text]))),
  constraint sync_runs_status_check CHECK ((status = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text]))),
  constraint sync_runs_trigger_type_check CHECK ((trigger_type = ANY (ARRAY['event'::text, 'cron'::text, 'manual'::text])))
);
CREATE INDEX sync_runs_by_connection ON public.sync_runs USING btree (connection_id, id DESC);
