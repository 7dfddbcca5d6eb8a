import { call } from '../api.ts';
import { formatBytes } from '../format.ts';
import { say } from '../message.ts';
import { mayManage } from '../session.ts';
import { texts } from '../texts.ts';
import type { Backup } from '../types.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { Ago, Button, LoadProblem, Notice, Section } from './controls.tsx';

/** The copies of the database that the daemon made, and one more on demand. */
export function SystemBackups() {
  const { data, error, reload } = useLoad((signal) => call('GET /v3/system/backups', { signal }), []);
  const make = useAction(async () => {
    await call('POST /v3/system/backups', { body: {} });
    say(texts.system.backedUp);
    reload();
  });
  return (
    <Section
      title={texts.system.backups}
      note={
        data?.offered &&
        mayManage.value && (
          <Button isBusy={make.isBusy} onClick={() => make.run()}>
            {make.isBusy ? texts.system.backingUp : texts.system.backUp}
          </Button>
        )
      }
    >
      <LoadProblem error={error} reload={reload} />
      {make.error && <Notice tone="bad">{make.error}</Notice>}
      {data && <p class="line quiet">{data.offered ? texts.system.backupsHelp : texts.system.backupsElsewhere}</p>}
      {data?.offered && data.backups.length === 0 && <p class="line quiet">{texts.system.noBackups}</p>}
      <ul class="rows" aria-label={texts.system.backups}>
        {data?.backups.map((backup) => (
          <BackupLine key={backup.name} {...backup} />
        ))}
      </ul>
    </Section>
  );
}

function BackupLine({ at, path, bytes }: Backup) {
  return (
    <li class="line wide">
      <bdi class="grow wrap">
        <code>{path}</code>
      </bdi>
      <span class="quiet small">
        {formatBytes(bytes)} · <Ago at={at} />
      </span>
    </li>
  );
}
