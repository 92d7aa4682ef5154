// A module in AssemblyScript: it looks at each snapshot, decides to do nothing, and says how large the snapshot was.
//
// As a Shadow it shows that whatever compiles to WebAssembly can be a module: nothing here is of Binnacle's own code. The
// two functions are those of reconciler-wasm/wit/world.wit, in the form that the component model gives them in a core module.

const DESCRIPTION = '{"name":"observer","version":"0.1.0","oldestSchema":1,"newestSchema":1,"decisionSchema":1,"minimumHost":"0.1.0"}';

/** Makes room for what the host passes in. Nothing is freed: every call has an instance of its own. */
export function cabi_realloc(old: usize, oldSize: usize, align: usize, size: usize): usize {
  const block = heap.alloc(size);
  memory.copy(block, old, oldSize < size ? oldSize : size);
  return block;
}

/** `describe: func() -> list<u8>`: answers where address and length of the list stand. */
export function describe(): usize {
  const area = heap.alloc(8);
  store<ArrayBuffer>(area, String.UTF8.encode(DESCRIPTION));
  store<u32>(area, String.UTF8.byteLength(DESCRIPTION), 4);
  return area;
}

/** `reconcile: func(snapshot: list<u8>) -> result<list<u8>, string>`: a tag, 0 for ok, then address and length. */
export function reconcile(snapshot: usize, length: usize): usize {
  const decision =
    '{"schema":1,"actions":[],"report":{"findings":[{"kind":"note","reason":"AsSpecified","message":"An observer saw a snapshot of ' +
    length.toString() +
    ' bytes and does nothing."}]}}';
  const area = heap.alloc(12);
  store<u8>(area, 0);
  store<ArrayBuffer>(area, String.UTF8.encode(decision), 4);
  store<u32>(area, String.UTF8.byteLength(decision), 8);
  return area;
}
