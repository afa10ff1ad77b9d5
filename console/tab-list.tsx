interface TabListProps<Name extends string> {
  readonly label: string;
  readonly names: readonly Name[];
  readonly chosen: Name;
  readonly onChoose: (name: Name) => void;
}

/** Tabs of one panel with the id `panel`; the arrow keys go from one to the next. */
export function TabList<Name extends string>({
  label,
  names,
  chosen,
  onChoose,
}: TabListProps<Name>) {
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = names[(names.indexOf(chosen) + step + names.length) % names.length] ?? chosen;
    onChoose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKey}>
      {names.map((one) => (
        <button
          key={one}
          id={`tab-${one}`}
          type="button"
          role="tab"
          aria-selected={chosen === one}
          aria-controls="panel"
          tabIndex={chosen === one ? 0 : -1}
          onClick={() => onChoose(one)}
        >
          {one}
        </button>
      ))}
    </div>
  );
}
