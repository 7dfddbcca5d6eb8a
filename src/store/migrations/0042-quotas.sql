-- Quotas of containers, and what those that have one hold, counted as it comes and goes.
alter table container_tags add column quota_documents bigint;
alter table container_tags add column quota_bytes bigint;
alter table container_tags add column quota_requests integer;

-- What a container holds is the sum of its rows: writers add rows and wait for nobody; now and then they are summed up.
create table container_usage (
  tag text collate "C" not null,
  documents bigint not null,
  bytes bigint not null
);
create index container_usage_by_tag on container_usage (tag);

create function note_usage(of_tag text, more_documents bigint, more_bytes bigint) returns void language sql as $$
  insert into container_usage (tag, documents, bytes)
  select tag, more_documents, more_bytes from container_tags
  where tag = of_tag and (quota_documents is not null or quota_bytes is not null)
$$;

-- The largest of what was sent, its text and its bytes.
create function stored_bytes(of_document text) returns bigint language sql stable as $$
  select coalesce((select greatest(octet_length(raw), octet_length(bytes), octet_length(content))
    from document_contents where document_id = of_document), 0)::bigint
$$;

create function count_document() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.deleted_at is null then
    perform note_usage(old.container_tag, -1, -stored_bytes(old.id));
  end if;
  if tg_op <> 'DELETE' and new.deleted_at is null then
    perform note_usage(new.container_tag, 1, case when tg_op = 'INSERT' then 0 else stored_bytes(new.id) end);
  end if;
  return case when tg_op = 'DELETE' then old else new end;
end $$;

create function count_content() returns trigger language plpgsql as $$
declare
  more bigint := coalesce(greatest(octet_length(new.raw), octet_length(new.bytes), octet_length(new.content)), 0);
begin
  if tg_op = 'UPDATE' then
    more := more - coalesce(greatest(octet_length(old.raw), octet_length(old.bytes), octet_length(old.content)), 0);
  end if;
  if more <> 0 then
    perform note_usage(d.container_tag, 0, more) from documents d where d.id = new.document_id and d.deleted_at is null;
  end if;
  return null;
end $$;

create trigger documents_added after insert on documents for each row execute function count_document();
-- Before: its content goes with it.
create trigger documents_removed before delete on documents for each row execute function count_document();
create trigger documents_moved after update of container_tag, deleted_at on documents for each row
  when (old.container_tag <> new.container_tag or (old.deleted_at is null) <> (new.deleted_at is null))
  execute function count_document();
create trigger contents_written after insert or update of raw, bytes, content on document_contents for each row
  execute function count_content();
