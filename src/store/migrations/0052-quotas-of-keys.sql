-- Quotas of keys beside those of containers. A key holds the documents whose content it wrote last.

-- The key that wrote the content, by `usage_id`. Null: a connection, or this machine's user.
alter table documents add column added_by text collate "C";

-- What a key holds is counted under this id, which keys that replace it take over. Null: its own id.
alter table api_keys add column usage_id text collate "C";
alter table api_keys add column quota_documents bigint;
alter table api_keys add column quota_bytes bigint;
create index api_keys_by_usage on api_keys ((coalesce(usage_id, id)));

-- As container_usage: what a key holds is the sum of its rows.
create table key_usage (
  usage_id text collate "C" not null,
  documents bigint not null,
  bytes bigint not null
);
create index key_usage_by_id on key_usage (usage_id);

create function note_key_usage(of_key text, more_documents bigint, more_bytes bigint) returns void language sql as $$
  insert into key_usage (usage_id, documents, bytes)
  select of_key, more_documents, more_bytes from api_keys
  where coalesce(usage_id, id) = of_key and (quota_documents is not null or quota_bytes is not null) limit 1
$$;

create or replace function count_document() returns trigger language plpgsql as $$
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
end $$;

create or replace function count_content() returns trigger language plpgsql as $$
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
end $$;

drop trigger documents_moved on documents;
create trigger documents_moved after update of container_tag, added_by, deleted_at on documents for each row
  when (old.container_tag <> new.container_tag or (old.deleted_at is null) <> (new.deleted_at is null)
    or old.added_by is distinct from new.added_by)
  execute function count_document();
