import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { texts } from '../texts.ts';
import { useAction } from '../use-action.ts';
import { Confirm } from './dialog.tsx';
import { ChoiceField, TextField } from './field.tsx';
import { defaultNamespace } from './namespace-choice.tsx';

interface NewKeyProps {
  initialName?: string;
  onClose: () => void;
  onMade: (key: string) => void;
}

/** Makes a scoped key and hands it out, once. */
export function NewKey({ initialName = '', onClose, onMade }: NewKeyProps) {
  const [name, setName] = useState(initialName);
  const [permission, setPermission] = useState<'read' | 'write'>('write');
  const [namespaces, setNamespaces] = useState(defaultNamespace);
  const [days, setDays] = useState('');
  const action = useAction(async () => {
    const containerTags = namespaces.split(',').flatMap((tag) => tag.trim() || []);
    const body = {
      containerTags,
      permission,
      ...(name.trim() !== '' && { name: name.trim() }),
      ...(days !== '' && { expiresInDays: Number(days) }),
    };
    const { key } = await call('POST /v3/auth/scoped-key', { body });
    onMade(key);
  });
  return (
    <Confirm title={texts.keys.create} action={action} confirm={texts.keys.submit} onClose={onClose}>
      <TextField label={texts.keys.name} value={name} onInput={setName} help={texts.keys.nameHelp} />
      <TextField
        label={texts.keys.namespaces}
        value={namespaces}
        onInput={setNamespaces}
        help={texts.keys.namespacesHelp}
      />
      <ChoiceField
        label={texts.keys.permission}
        value={permission}
        options={Object.entries(texts.keys.permissions) as ['read' | 'write', string][]}
        onChange={setPermission}
      />
      <ChoiceField
        label={texts.keys.days}
        value={days}
        options={Object.entries(texts.keys.dayOptions)}
        onChange={setDays}
      />
    </Confirm>
  );
}
