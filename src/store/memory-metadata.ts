import { rawSql } from './sql.ts';

/** The metadata of a memory `m` as it is shown: with its dates (section 10.4 rule 6 of the API). Null without both. */
export const shownMetadata = rawSql(`case when m.temporal_context is null then m.metadata
    else coalesce(m.metadata, '{}') || jsonb_build_object('temporalContext', m.temporal_context) end`);
