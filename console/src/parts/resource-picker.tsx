import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { texts } from '../texts.ts';
import { useAction } from '../use-action.ts';
import { useLoad } from '../use-load.ts';
import { LoadProblem, Loading } from './controls.tsx';
import { Confirm } from './dialog.tsx';
import { CheckField, TextField } from './field.tsx';

interface Resource {
  id: string | number;
  name?: string;
  hasChildren?: boolean;
  selectable?: boolean;
  selected?: boolean;
}

interface ResourcePickerProps {
  connectionId: string;
  onClose: () => void;
  onChange: () => void;
}

type Chosen = ReadonlyMap<string, Resource>;

/** What the source offers, as a tree of which branches are read when they are opened. */
export function ResourcePicker({ connectionId, onClose, onChange }: ResourcePickerProps) {
  const [filter, setFilter] = useState('');
  const [changes, setChanges] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [seen, setSeen] = useState<Chosen>(new Map());
  const path = `/v3/connections/${connectionId}`;
  const save = useAction(async () => {
    const resources = [...seen.values()]
      .filter((resource) => changes.get(String(resource.id)) ?? resource.selected)
      .map(({ id, name }) => ({ id, ...(name !== undefined && { name }) }));
    await call('POST', `${path}/configure`, { body: { resources } });
    say(texts.source.chosen);
    onClose();
    onChange();
  });
  return (
    <Confirm title={texts.source.choose} action={save} confirm={texts.source.chooseSave} onClose={onClose}>
      <p class="quiet">{texts.source.chooseHelp}</p>
      <TextField label={texts.source.chooseFilter} type="search" value={filter} onInput={setFilter} />
      <div class="tree">
        <Branch
          path={path}
          parent=""
          filter={filter.toLowerCase()}
          isChosen={(resource) => changes.get(String(resource.id)) ?? resource.selected === true}
          onToggle={(resource, isOn) => setChanges(new Map(changes).set(String(resource.id), isOn))}
          onSeen={(resources) =>
            setSeen((before) => new Map([...before, ...resources.map((each) => [String(each.id), each] as const)]))
          }
        />
      </div>
    </Confirm>
  );
}

interface BranchProps {
  path: string;
  parent: string;
  filter: string;
  isChosen: (resource: Resource) => boolean;
  onToggle: (resource: Resource, isOn: boolean) => void;
  onSeen: (resources: Resource[]) => void;
}

function Branch({ path, parent, ...rest }: BranchProps) {
  const { data, error, reload } = useLoad(
    async (signal) => {
      const query = `per_page=100${parent && `&parent_id=${encodeURIComponent(parent)}`}`;
      const { resources } = await call<{ resources: Resource[] }>('GET', `${path}/resources?${query}`, { signal });
      rest.onSeen(resources);
      return resources;
    },
    [path, parent],
  );
  if (error) return <LoadProblem error={error} reload={reload} />;
  if (!data) return <Loading />;
  if (data.length === 0) return <p class="quiet">{texts.source.chooseNone}</p>;
  return (
    <ul>
      {data.map((resource) => (
        <Twig key={resource.id} resource={resource} path={path} parent={parent} {...rest} />
      ))}
    </ul>
  );
}

function Twig({ resource, ...rest }: BranchProps & { resource: Resource }) {
  const [isOpen, setOpen] = useState(false);
  const name = resource.name ?? String(resource.id);
  if (!name.toLowerCase().includes(rest.filter) && !isOpen) return null;
  return (
    <li>
      <div class="row">
        {resource.hasChildren && (
          <button
            type="button"
            class="button plain"
            aria-expanded={isOpen}
            aria-label={texts.source.expand(name)}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        )}
        {resource.selectable === false ? (
          <bdi>{name}</bdi>
        ) : (
          <CheckField label={name} isOn={rest.isChosen(resource)} onChange={(isOn) => rest.onToggle(resource, isOn)} />
        )}
      </div>
      {isOpen && <Branch {...rest} parent={String(resource.id)} />}
    </li>
  );
}
