import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { say } from '../message.ts';
import { texts } from '../texts.ts';
import type { Connection, Resource, SelectedResource } from '../types.ts';
import { useAction } from '../use-action.ts';
import { usePages } from '../use-pages.ts';
import { LoadProblem, Loading, More } from './controls.tsx';
import { Confirm } from './dialog.tsx';
import { CheckField, TextField } from './field.tsx';

interface ResourcePickerProps {
  connection: Connection;
  onClose: () => void;
  onChange: () => void;
}

type Chosen = ReadonlyMap<string, SelectedResource>;
/** What was read so far, by the resource that it lies in. */
type Branches = ReadonlyMap<string, readonly Resource[]>;

const keyOf = ({ id }: SelectedResource) => String(id);
const nameOf = ({ id, name }: SelectedResource) => name ?? String(id);

/** What the source offers, as a tree of which branches are read when they are opened. */
export function ResourcePicker({ connection, onClose, onChange }: ResourcePickerProps) {
  const [filter, setFilter] = useState('');
  // What was chosen before stays chosen, also in branches that nobody opens.
  const [chosen, setChosen] = useState<Chosen>(() => new Map(connection.selection.map((each) => [keyOf(each), each])));
  const [branches, setBranches] = useState<Branches>(new Map());
  const connectionId = connection.id;
  const save = useAction(async () => {
    await call('POST /v3/connections/{connectionId}/configure', {
      path: { connectionId },
      body: { resources: [...chosen.values()] },
    });
    say(texts.source.chosen);
    onClose();
    onChange();
  });
  const wanted = filter.trim().toLowerCase();
  const isMatch = (resource: Resource) =>
    resource.selectable !== false && nameOf(resource).toLowerCase().includes(wanted);
  const isShown = (resource: Resource): boolean =>
    isMatch(resource) || resource.selectable === false || (branches.get(keyOf(resource))?.some(isShown) ?? false);
  const hasMatch = [...branches.values()].some((rows) => rows.some(isMatch));
  return (
    <Confirm title={texts.source.choose} action={save} confirm={texts.source.chooseSave} onClose={onClose}>
      <p class="quiet">{texts.source.chooseHelp}</p>
      <TextField
        label={texts.source.chooseFilter}
        type="search"
        value={filter}
        onInput={setFilter}
        help={texts.source.chooseFilterHelp}
      />
      <div class="tree">
        <Branch
          connectionId={connectionId}
          parent=""
          isWhole={false}
          isMatch={isMatch}
          isShown={isShown}
          isChosen={(resource) => chosen.has(keyOf(resource))}
          onToggle={(resource, isOn) => setChosen(toggled(chosen, resource, isOn))}
          onRead={(parent, rows) => setBranches((before) => new Map(before).set(parent, rows))}
        />
      </div>
      <p class="quiet" role="status">
        {wanted !== '' && !hasMatch ? texts.source.chooseNoMatch : texts.source.chosenCount(chosen.size)}
      </p>
    </Confirm>
  );
}

function toggled(chosen: Chosen, resource: Resource, isOn: boolean): Chosen {
  const changed = new Map(chosen);
  const { id, name, kind } = resource;
  if (isOn)
    changed.set(keyOf(resource), { id, ...(name !== undefined && { name }), ...(kind !== undefined && { kind }) });
  else changed.delete(keyOf(resource));
  return changed;
}

interface BranchProps {
  connectionId: string;
  parent: string;
  /** Lies in something of which the name matches. */
  isWhole: boolean;
  isMatch: (resource: Resource) => boolean;
  isShown: (resource: Resource) => boolean;
  isChosen: (resource: Resource) => boolean;
  onToggle: (resource: Resource, isOn: boolean) => void;
  onRead: (parent: string, rows: readonly Resource[]) => void;
}

const pageSize = 100;
/** Groups that cannot be chosen themselves stand open when there are no more than these. */
const mostOpen = 5;

function Branch({ connectionId, parent, ...rest }: BranchProps) {
  const { rows, error, isLoading, readMore, reload } = usePages(
    async (cursor, signal) => {
      const page = Number(cursor || 1);
      const query = { page, per_page: pageSize, ...(parent && { parent_id: parent }) };
      const { resources } = await call('GET /v3/connections/{connectionId}/resources', {
        path: { connectionId },
        query,
        signal,
      });
      return { items: resources, next: resources.length < pageSize ? null : String(page + 1) };
    },
    [connectionId, parent],
  );
  useEffect(() => rest.onRead(parent, rows), [rows]);
  const isFew = rows.length <= mostOpen;
  return (
    <>
      <ul>
        {rows
          .filter((each) => rest.isWhole || rest.isShown(each))
          .map((resource) => (
            <Twig
              key={resource.id}
              resource={resource}
              isFew={isFew}
              connectionId={connectionId}
              parent={parent}
              {...rest}
            />
          ))}
      </ul>
      {error && <LoadProblem error={error} reload={reload} />}
      {isLoading && <Loading />}
      {!isLoading && !error && rows.length === 0 && (
        <p class="quiet">{parent === '' ? texts.source.chooseNone : texts.source.chooseNoneHere}</p>
      )}
      <More read={readMore} />
    </>
  );
}

function Twig({ resource, isFew, ...rest }: BranchProps & { resource: Resource; isFew: boolean }) {
  const [isOpen, setOpen] = useState(isFew && resource.selectable === false && resource.hasChildren === true);
  const name = nameOf(resource);
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
      {isOpen && <Branch {...rest} parent={keyOf(resource)} isWhole={rest.isWhole || rest.isMatch(resource)} />}
    </li>
  );
}
