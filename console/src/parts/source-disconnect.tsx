import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { goTo } from '../route.ts';
import { texts } from '../texts.ts';
import type { Connection } from '../types.ts';
import { useAction } from '../use-action.ts';
import { Confirm } from './dialog.tsx';
import { CheckField } from './field.tsx';

interface DisconnectProps {
  connection: Connection;
  name: string;
  onClose: () => void;
}

/** Says what goes before it goes. */
export function Disconnect({ connection, name, onClose }: DisconnectProps) {
  const [deletes, setDeletes] = useState(true);
  const action = useAction(async () => {
    await call('DELETE /v3/connections/{connection}', {
      path: { connection: connection.id },
      query: { deleteDocuments: deletes ? 'true' : 'false' },
    });
    say(texts.source.disconnected(name), { forNextScreen: true });
    goTo(['sources']);
  });
  return (
    <Confirm
      title={texts.source.disconnectTitle(name)}
      action={action}
      confirm={texts.source.disconnect}
      isDangerous
      onClose={onClose}
    >
      <p>{texts.source.disconnectHelp(connection.documentCount)}</p>
      <fieldset class="stack" aria-label={texts.source.disconnect}>
        <CheckField
          group="documents"
          label={texts.source.deleteDocuments(connection.documentCount)}
          isOn={deletes}
          onChange={() => setDeletes(true)}
        />
        <CheckField
          group="documents"
          label={texts.source.keepDocuments(connection.documentCount)}
          isOn={!deletes}
          onChange={() => setDeletes(false)}
        />
      </fieldset>
    </Confirm>
  );
}
