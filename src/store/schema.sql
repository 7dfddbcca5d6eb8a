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
  usage_id text collate "C",
  quota_documents bigint,
  quota_bytes bigint,
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_hash_key UNIQUE (hash),
  constraint api_keys_kind_check CHECK ((kind = ANY (ARRAY['full'::text, 'scoped'::text]))),
  constraint api_keys_permission_check CHECK ((permission = ANY (ARRAY['read'::text, 'write'::text])))
);
CREATE INDEX api_keys_by_usage ON public.api_keys USING btree (COALESCE(usage_id, id));

create table audit_events (
  id text collate "C" not null,
  at timestamp with time zone not null,
  action text not null,
  outcome text not null,
  status integer not null,
  key_id text,
  key_name text,
  address text,
  target text,
  count integer not null default 1,
  constraint audit_events_pkey PRIMARY KEY (id),
  constraint audit_events_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'denied'::text, 'failed'::text])))
);
CREATE INDEX audit_events_by_age ON public.audit_events USING btree (at);

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
CREATE INDEX chunks_by_content ON public.chunks USING btree (content_hash);
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
  memories text,
  trust text not null default 'read'::text,
  author text,
  in_profile boolean not null default false,
  unwatched text,
  constraint connections_pkey PRIMARY KEY (id),
  constraint connections_memories_check CHECK ((memories = ANY (ARRAY['off'::text, 'facts'::text, 'facts+episodes'::text]))),
  constraint connections_on_source_delete_check CHECK ((on_source_delete = ANY (ARRAY['delete'::text, 'keep'::text]))),
  constraint connections_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'needs_reauth'::text, 'needs_configuration'::text, 'deleting'::text]))),
  constraint connections_trust_check CHECK ((trust = ANY (ARRAY['own'::text, 'read'::text])))
);
CREATE INDEX connections_by_account ON public.connections USING btree (provider, account_id) WHERE (account_id IS NOT NULL);
CREATE INDEX connections_by_container ON public.connections USING btree (container_tag);
CREATE INDEX connections_due ON public.connections USING btree (next_sync_at) WHERE (status = 'active'::text);

create table console_links (
  hash text collate "C" not null,
  key_id text collate "C",
  expires_at timestamp with time zone not null,
  constraint console_links_pkey PRIMARY KEY (hash),
  constraint console_links_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX console_links_by_key ON public.console_links USING btree (key_id);

create table console_sessions (
  hash text collate "C" not null,
  key_id text collate "C",
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint console_sessions_pkey PRIMARY KEY (hash),
  constraint console_sessions_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id) ON DELETE CASCADE
);
CREATE INDEX console_sessions_by_key ON public.console_sessions USING btree (key_id);

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
  renames_ids boolean not null default false,
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
  memories text,
  quota_documents bigint,
  quota_bytes bigint,
  quota_requests integer,
  constraint container_tags_pkey PRIMARY KEY (tag),
  constraint container_tags_id_key UNIQUE (id),
  constraint container_tags_memories_check CHECK ((memories = ANY (ARRAY['off'::text, 'facts'::text, 'facts+episodes'::text])))
);

create table container_usage (
  tag text collate "C" not null,
  documents bigint not null,
  bytes bigint not null
);
CREATE INDEX container_usage_by_tag ON public.container_usage USING btree (tag);

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
  turns jsonb,
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
  author text,
  trust text not null default 'told'::text,
  is_transcript boolean not null default false,
  written_at timestamp with time zone,
  chunk_starts integer[],
  chunk_ends integer[],
  lost_workers integer not null default 0,
  added_by text collate "C",
  supporting_context text,
  words_revision integer,
  constraint documents_pkey PRIMARY KEY (id),
  constraint documents_dreaming_check CHECK ((dreaming = ANY (ARRAY['instant'::text, 'dynamic'::text]))),
  constraint documents_dreaming_status_check CHECK ((dreaming_status = ANY (ARRAY['dreaming'::text, 'done'::text]))),
  constraint documents_status_check CHECK ((status = ANY (ARRAY['unknown'::text, 'queued'::text, 'extracting'::text, 'chunking'::text, 'embedding'::text, 'indexing'::text, 'done'::text, 'failed'::text]))),
  constraint documents_task_type_check CHECK ((task_type = ANY (ARRAY['memory'::text, 'superrag'::text]))),
  constraint documents_trust_check CHECK ((trust = ANY (ARRAY['told'::text, 'own'::text, 'read'::text])))
) with (fillfactor=85);
CREATE INDEX documents_by_connection ON public.documents USING btree (connection_id) WHERE (connection_id IS NOT NULL);
CREATE INDEX documents_by_container ON public.documents USING btree (container_tag, created_at, id);
CREATE UNIQUE INDEX documents_by_custom_id ON public.documents USING btree (custom_id, container_tag) WHERE ((custom_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX documents_by_update ON public.documents USING btree (updated_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX documents_deleted ON public.documents USING btree (id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX documents_deleted_by_custom_id ON public.documents USING btree (container_tag, custom_id) WHERE ((deleted_at IS NOT NULL) AND (custom_id IS NOT NULL));
CREATE INDEX documents_dreaming ON public.documents USING btree (dream_at, id) WHERE ((dreaming_status = 'dreaming'::text) AND (status = 'done'::text) AND (deleted_at IS NULL));
CREATE INDEX documents_dreaming_by_container ON public.documents USING btree (container_tag, COALESCE(written_at, document_date, created_at), id) WHERE ((dreaming_status = 'dreaming'::text) AND (status = 'done'::text) AND (deleted_at IS NULL));
CREATE INDEX documents_failed ON public.documents USING btree (next_attempt_at) WHERE ((status = 'failed'::text) AND (deleted_at IS NULL));
CREATE INDEX documents_without_vectors ON public.documents USING btree (((cardinality(chunk_starts) > 16)), next_attempt_at DESC, id) WHERE ((status <> ALL (ARRAY['done'::text, 'failed'::text, 'unknown'::text])) AND (deleted_at IS NULL) AND (words_revision = revision));
CREATE INDEX documents_work ON public.documents USING btree (next_attempt_at, id) WHERE ((status <> ALL (ARRAY['done'::text, 'failed'::text, 'unknown'::text])) AND (deleted_at IS NULL) AND (words_revision IS DISTINCT FROM revision));

create table documents_to_summarize (
  document_id text collate "C" not null,
  attempts integer not null default 0,
  due_at timestamp with time zone not null,
  constraint documents_to_summarize_pkey PRIMARY KEY (document_id),
  constraint documents_to_summarize_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id) ON DELETE CASCADE
);
CREATE INDEX documents_to_summarize_by_time ON public.documents_to_summarize USING btree (due_at, document_id);

create table erasures (
  id text collate "C" not null,
  target jsonb not null,
  rewrite boolean not null,
  status text not null,
  documents integer not null default 0,
  memories integer not null default 0,
  problem text,
  not_rewritten text[] not null default '{}'::text[],
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint erasures_pkey PRIMARY KEY (id),
  constraint erasures_status_check CHECK ((status = ANY (ARRAY['removing'::text, 'rewriting'::text, 'completed'::text])))
);
CREATE INDEX erasures_open ON public.erasures USING btree (id) WHERE (finished_at IS NULL);

create table forgotten_statements (
  container_tag text collate "C" not null,
  hash text collate "C" not null,
  forgotten_at timestamp with time zone not null,
  constraint forgotten_statements_pkey PRIMARY KEY (container_tag, hash)
);

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

create table kept_answers (
  name text not null,
  body_hash text,
  holder text not null,
  held_until timestamp with time zone not null,
  status integer,
  content_type text,
  body text,
  expires_at timestamp with time zone not null,
  constraint kept_answers_pkey PRIMARY KEY (name)
);
CREATE INDEX kept_answers_expired ON public.kept_answers USING btree (expires_at);

create table key_usage (
  usage_id text collate "C" not null,
  documents bigint not null,
  bytes bigint not null
);
CREATE INDEX key_usage_by_id ON public.key_usage USING btree (usage_id);

create table language_model_answers (
  key text collate "C" not null,
  document_id text collate "C" not null,
  answer jsonb not null,
  used_at timestamp with time zone not null,
  constraint language_model_answers_pkey PRIMARY KEY (key),
  constraint language_model_answers_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id) ON DELETE CASCADE
);
CREATE INDEX language_model_answers_by_document ON public.language_model_answers USING btree (document_id);
CREATE INDEX language_model_answers_by_use ON public.language_model_answers USING btree (used_at);

create table language_model_usage (
  container_tag text collate "C" not null,
  day date not null,
  day_tokens bigint not null,
  tokens bigint not null default 0,
  answers bigint not null default 0,
  cached bigint not null default 0,
  failed bigint not null default 0,
  malformed bigint not null default 0,
  over_budget bigint not null default 0,
  answered_at timestamp with time zone,
  failed_at timestamp with time zone,
  over_budget_at timestamp with time zone,
  constraint language_model_usage_pkey PRIMARY KEY (container_tag)
);

create table leases (
  name text not null,
  holder text not null,
  lease_until timestamp with time zone not null,
  token text not null default ''::text,
  constraint leases_pkey PRIMARY KEY (name)
);

create table memories (
  id text collate "C" not null,
  container_tag text collate "C" not null,
  memory text not null,
  metadata jsonb,
  temporal_context jsonb,
  category text,
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
  kind text not null default 'fact'::text,
  author text,
  trust text not null default 'told'::text,
  said_at timestamp with time zone,
  superseded_at timestamp with time zone,
  forgotten_at timestamp with time zone,
  forgotten_by text,
  words_hash text,
  constraint memories_pkey PRIMARY KEY (id),
  constraint memories_forgotten_by_check CHECK ((forgotten_by = ANY (ARRAY['caller'::text, 'source'::text, 'time'::text]))),
  constraint memories_kind_check CHECK ((kind = ANY (ARRAY['fact'::text, 'episode'::text]))),
  constraint memories_trust_check CHECK ((trust = ANY (ARRAY['told'::text, 'own'::text, 'read'::text])))
) with (toast_tuple_target=4080);
CREATE INDEX memories_by_container ON public.memories USING btree (container_tag, created_at) WHERE (is_latest AND (NOT is_forgotten));
CREATE INDEX memories_by_hash ON public.memories USING btree (container_tag, content_hash) WHERE is_latest;
CREATE INDEX memories_by_root ON public.memories USING btree (root_memory_id) WHERE (root_memory_id IS NOT NULL);
CREATE INDEX memories_by_slot ON public.memories USING btree (container_tag, subject, slot) WHERE (is_latest AND (slot IS NOT NULL));
CREATE INDEX memories_by_subject ON public.memories USING btree (container_tag, subject, created_at) WHERE (is_latest AND (NOT is_forgotten));
CREATE INDEX memories_by_term ON public.memories USING gin (terms);
CREATE INDEX memories_by_words ON public.memories USING btree (container_tag, words_hash) WHERE is_latest;
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

create table memory_setting_changes (
  scope text not null,
  id text collate "C" not null,
  "position" text collate "C" not null default ''::text,
  constraint memory_setting_changes_pkey PRIMARY KEY (scope, id),
  constraint memory_setting_changes_scope_check CHECK ((scope = ANY (ARRAY['connection'::text, 'container'::text, 'everything'::text])))
);

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
  recent_removals jsonb not null default '[]'::jsonb,
  listing_unread jsonb not null default '[]'::jsonb,
  unread jsonb not null default '[]'::jsonb,
  listing_pass integer,
  listing_news integer not null default 0,
  listing_quiet integer not null default 0,
  unconfirmed integer not null default 0,
  listed_for text not null default ''::text,
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

create table processes (
  id text collate "C" not null,
  role text not null,
  version text not null,
  host text not null,
  pid integer not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  constraint processes_pkey PRIMARY KEY (id),
  constraint processes_role_check CHECK ((role = ANY (ARRAY['all'::text, 'api'::text, 'worker'::text, 'scheduler'::text])))
);

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
  missing_since timestamp with time zone,
  lost_workers integer not null default 0,
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

create table text_changes (
  transaction_id xid8 not null default pg_current_xact_id(),
  document_id text collate "C",
  memory_id text collate "C",
  noted_at timestamp with time zone not null default now()
);
CREATE INDEX text_changes_by_transaction ON public.text_changes USING btree (transaction_id);

create table text_languages (
  container_tag text collate "C" not null,
  language text collate "C" not null
);
CREATE INDEX text_languages_by_language ON public.text_languages USING btree (language, container_tag);

CREATE OR REPLACE FUNCTION public.count_content()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  more bigint := coalesce(greatest(octet_length(new.raw), octet_length(new.bytes), octet_length(new.content)), 0);
begin
  if tg_op = 'UPDATE' then
    more := more - coalesce(greatest(octet_length(old.raw), octet_length(old.bytes), octet_length(old.content)), 0);
  end if;
  if more <> 0 then
    perform note_usage(d.container_tag, 0, more), note_key_usage(d.added_by, 0, more)
    from documents d where d.id = new.document_id and d.deleted_at is null;
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.count_document()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  more bigint;
begin
  if tg_op <> 'INSERT' and old.deleted_at is null then
    more := stored_bytes(old.id);
    perform note_usage(old.container_tag, -1, -more);
    if old.added_by is not null then perform note_key_usage(old.added_by, -1, -more); end if;
  end if;
  if tg_op <> 'DELETE' and new.deleted_at is null then
    more := case when tg_op = 'INSERT' then 0 else stored_bytes(new.id) end;
    perform note_usage(new.container_tag, 1, more);
    if new.added_by is not null then perform note_key_usage(new.added_by, 1, more); end if;
  end if;
  return case when tg_op = 'DELETE' then old else new end;
end $function$;

CREATE OR REPLACE FUNCTION public.note_chunks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into text_changes (document_id) select distinct document_id from changed;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_document()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into text_changes (document_id) values (new.id);
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_key_usage(of_key text, more_documents bigint, more_bytes bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into key_usage (usage_id, documents, bytes)
  select of_key, more_documents, more_bytes from api_keys
  where coalesce(usage_id, id) = of_key and (quota_documents is not null or quota_bytes is not null) limit 1
$function$;

CREATE OR REPLACE FUNCTION public.note_memories()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into text_changes (memory_id) select distinct id from changed;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_memory_sources()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into text_changes (document_id, memory_id) select document_id, memory_id from changed;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION public.note_usage(of_tag text, more_documents bigint, more_bytes bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
  insert into container_usage (tag, documents, bytes)
  select tag, more_documents, more_bytes from container_tags
  where tag = of_tag and (quota_documents is not null or quota_bytes is not null)
$function$;

CREATE OR REPLACE FUNCTION public.stored_bytes(of_document text)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
  select coalesce((select greatest(octet_length(raw), octet_length(bytes), octet_length(content))
    from document_contents where document_id = of_document), 0)::bigint
$function$;

CREATE TRIGGER chunks_deleted AFTER DELETE ON public.chunks REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_chunks();

CREATE TRIGGER chunks_inserted AFTER INSERT ON public.chunks REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_chunks();

CREATE TRIGGER chunks_updated AFTER UPDATE ON public.chunks REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_chunks();

CREATE TRIGGER contents_written AFTER INSERT OR UPDATE OF raw, bytes, content ON public.document_contents FOR EACH ROW EXECUTE FUNCTION count_content();

CREATE TRIGGER documents_added AFTER INSERT ON public.documents FOR EACH ROW EXECUTE FUNCTION count_document();

CREATE TRIGGER documents_moved AFTER UPDATE OF container_tag, added_by, deleted_at ON public.documents FOR EACH ROW WHEN (((old.container_tag <> new.container_tag) OR ((old.deleted_at IS NULL) <> (new.deleted_at IS NULL)) OR (old.added_by IS DISTINCT FROM new.added_by))) EXECUTE FUNCTION count_document();

CREATE TRIGGER documents_removed BEFORE DELETE ON public.documents FOR EACH ROW EXECUTE FUNCTION count_document();

CREATE TRIGGER documents_updated AFTER UPDATE ON public.documents FOR EACH ROW WHEN (((((((old.deleted_at IS DISTINCT FROM new.deleted_at) OR (old.container_tag IS DISTINCT FROM new.container_tag)) OR (old.document_date IS DISTINCT FROM new.document_date)) OR (old.written_at IS DISTINCT FROM new.written_at)) OR (old.chunk_starts IS DISTINCT FROM new.chunk_starts)) OR (old.chunk_ends IS DISTINCT FROM new.chunk_ends))) EXECUTE FUNCTION note_document();

CREATE TRIGGER memories_deleted AFTER DELETE ON public.memories REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memories();

CREATE TRIGGER memories_inserted AFTER INSERT ON public.memories REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memories();

CREATE TRIGGER memories_updated AFTER UPDATE ON public.memories REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memories();

CREATE TRIGGER memory_sources_deleted AFTER DELETE ON public.memory_sources REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memory_sources();

CREATE TRIGGER memory_sources_inserted AFTER INSERT ON public.memory_sources REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memory_sources();

CREATE TRIGGER memory_sources_updated AFTER UPDATE ON public.memory_sources REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_memory_sources();
