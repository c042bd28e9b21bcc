/** Where the nodes of a workflow stand: each to the right of everything it depends on. Pure. */

/**
 * @param {{node_id: string}[]} nodes
 * @param {{source: string, target: string}[]} edges
 * @returns {{places: Map<string, {column: number, row: number}>, columns: number, rows: number}}
 */
export function placed(nodes, edges) {
  const before = new Map(nodes.map((node) => [node.node_id, []]));
  for (const { source, target } of edges) if (before.has(target) && before.has(source)) before.get(target).push(source);
  const column = new Map();
  const depth = (id, path) => {
    if (column.has(id)) return column.get(id);
    if (path.has(id)) return 0; // a circle in bad evidence must not hang the page
    path.add(id);
    const found = before.get(id).reduce((most, source) => Math.max(most, depth(source, path) + 1), 0);
    path.delete(id);
    column.set(id, found);
    return found;
  };
  for (const node of nodes) depth(node.node_id, new Set());
  const rows = [];
  const places = new Map();
  const byColumn = [...nodes].sort((left, right) => column.get(left.node_id) - column.get(right.node_id));
  for (const node of byColumn) {
    const at = column.get(node.node_id);
    const sources = before.get(node.node_id).map((source) => places.get(source)?.row ?? 0);
    const wish = sources.length ? Math.round(sources.reduce((sum, row) => sum + row, 0) / sources.length) : 0;
    rows[at] ??= new Set();
    let row = wish;
    while (rows[at].has(row)) row += 1;
    rows[at].add(row);
    places.set(node.node_id, { column: at, row });
  }
  const all = [...places.values()];
  return { places, columns: Math.max(0, ...all.map((one) => one.column)) + 1, rows: Math.max(0, ...all.map((one) => one.row)) + 1 };
}
