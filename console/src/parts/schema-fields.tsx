import { formatBytes } from '../format.ts';
import { problemOf, type FieldValue, type FormField, type FormValues } from '../schema-form.ts';
import { texts } from '../texts.ts';
import { Coded } from './controls.tsx';
import { DropTarget } from './drop-target.tsx';
import { CheckField, ChoiceField, Field, TextField } from './field.tsx';

interface SchemaFieldsProps {
  fields: readonly FormField[];
  values: FormValues;
  onChange: (name: string, value: FieldValue) => void;
  /** Nothing is called wrong before it was tried. */
  showProblems: boolean;
}

/** The controls of a form that a JSON Schema describes. */
export function SchemaFields({ fields, values, onChange, showProblems }: SchemaFieldsProps) {
  return (
    <>
      {fields.map((field) => {
        const value = values[field.name] ?? field.initial;
        const problem = showProblems ? problemText(field, value) : undefined;
        return (
          <SchemaField
            key={field.name}
            field={field}
            value={value}
            problem={problem}
            onChange={(changed) => onChange(field.name, changed)}
          />
        );
      })}
    </>
  );
}

function problemText(field: FormField, value: FieldValue): string | undefined {
  const problem = problemOf(field, value);
  if (problem === undefined) return undefined;
  if (problem === 'too-small') return texts.addSource.problems[problem](field.minimum);
  if (problem === 'too-large') return texts.addSource.problems[problem](field.maximum);
  return texts.addSource.problems[problem];
}

interface SchemaFieldProps {
  field: FormField;
  value: FieldValue;
  problem: string | undefined;
  onChange: (value: FieldValue) => void;
}

function SchemaField({ field, value, problem, onChange }: SchemaFieldProps) {
  const { kind, title, isRequired } = field;
  const help = <Coded text={helpOf(field, value)} />;
  if (kind === 'switch')
    return <CheckField label={title} isOn={value === true} onChange={onChange} help={field.help && help} />;
  if (kind === 'choices') return <Choices field={field} value={value} onChange={onChange} />;
  if (kind === 'choice') {
    const options = field.options.map((option) => [option, option] as const);
    return <ChoiceField label={title} value={String(value)} options={options} onChange={onChange} help={help} />;
  }
  const shared = { label: title, value: String(value), onInput: onChange, help, problem, isRequired };
  if (kind === 'long-text') return <LongText {...shared} />;
  return (
    <TextField {...shared} type={kind === 'secret' ? 'password' : 'text'} {...(kind === 'lines' && { lines: 2 })} />
  );
}

function helpOf(field: FormField, value: FieldValue): string {
  const bytes = Number(value);
  return [
    field.help,
    field.kind === 'lines' ? texts.addSource.linesHelp : '',
    field.countsBytes && bytes > 0 ? `${formatBytes(bytes)}.` : '',
  ]
    .filter(Boolean)
    .join(' ');
}

interface LongTextProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  help: preact.ComponentChildren;
  problem: string | undefined;
  isRequired: boolean;
}

/** A key file or certificate: pasted, or read from a file that is dropped on it or chosen. */
function LongText({ onInput, ...rest }: LongTextProps) {
  const read = (files: ArrayLike<File> | null) => void files?.[0]?.text().then(onInput);
  return (
    <DropTarget look="beside" onFiles={read}>
      <TextField {...rest} onInput={onInput} lines={4} />
      <p class="quiet small">{texts.addSource.dropFile}</p>
      <Field label={`${rest.label}: ${texts.addSource.file}`}>
        {(ids) => <input {...ids} type="file" onChange={(event) => read(event.currentTarget.files)} />}
      </Field>
    </DropTarget>
  );
}

function Choices({ field, value, onChange }: Omit<SchemaFieldProps, 'problem'>) {
  const chosen = Array.isArray(value) ? value : [];
  const toggle = (option: string, isOn: boolean) =>
    onChange(field.options.filter((each) => (each === option ? isOn : chosen.includes(each))));
  return (
    <fieldset class="field">
      <legend>{field.title}</legend>
      <div class="help">
        <Coded text={field.help} />
      </div>
      {field.options.map((option) => (
        <CheckField
          key={option}
          label={option}
          isOn={chosen.includes(option)}
          onChange={(isOn) => toggle(option, isOn)}
        />
      ))}
    </fieldset>
  );
}
