/** Only the rows in sight exist. Rows have one height; what is looked at stays where it is when rows come in above. */
import { html, useEffect, useLayoutEffect, useRef, useState } from "../core/html.js";

const BEYOND = 8;

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number} props.rowHeight in pixels
 * @param {(index: number) => any} props.row
 * @param {(index: number) => string|undefined} props.keyOf stable names: they hold the view still
 * @param {(key: string) => number} [props.indexOf] where a key is now
 * @param {boolean} [props.page] scroll with the page instead of in a box of its own
 * @param {boolean} [props.follow] keep the end in sight
 * @param {(following: boolean) => void} [props.onFollow] told when the reader scrolls away from the end or back to it
 * @param {(first: number, last: number) => void} [props.onRange]
 * @param {{current: any}} [props.handle] gets `reveal(index)`
 */
export function VirtualList({ count, rowHeight, row, keyOf, indexOf, page = false, follow = false, onFollow, onRange, handle, label, className = "", role = "rowgroup" }) {
  const box = useRef(null);
  const anchor = useRef(null);
  const own = useRef({ top: 0 });
  const [range, setRange] = useState([0, 40]);

  const measure = () => {
    const node = box.current;
    if (!node) return;
    const top = page ? Math.max(0, -node.getBoundingClientRect().top) : node.scrollTop;
    const height = page ? window.innerHeight : node.clientHeight;
    const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND);
    const last = Math.min(count, Math.ceil((top + height) / rowHeight) + BEYOND);
    const seen = Math.floor(top / rowHeight);
    anchor.current = top > 0 && seen < count ? { key: keyOf(seen), index: seen } : null;
    setRange((now) => (now[0] === first && now[1] === last ? now : [first, last]));
    onRange?.(seen, Math.min(count, Math.ceil((top + height) / rowHeight)));
  };

  useLayoutEffect(() => {
    const node = box.current;
    if (follow && !page) {
      const before = node.scrollTop;
      node.scrollTop = node.scrollHeight;
      own.current.quiet = node.scrollTop !== before; // no event comes where nothing moved: the next one is the reader's
    } else if (anchor.current?.key && indexOf) {
      const moved = indexOf(anchor.current.key) - anchor.current.index;
      if (moved > 0) (page ? window : node).scrollBy(0, moved * rowHeight);
    }
    measure();
  }, [count, rowHeight, follow, keyOf(0)]);

  useEffect(() => {
    const node = page ? window : box.current;
    let frame = 0;
    const scrolled = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const at = box.current;
        if (at && !page && onFollow) {
          const atEnd = at.scrollTop + at.clientHeight >= at.scrollHeight - rowHeight;
          if (own.current.quiet) own.current.quiet = false;
          else onFollow(atEnd);
        }
        measure();
      });
    };
    node.addEventListener("scroll", scrolled, { passive: true });
    const sized = new ResizeObserver(measure);
    sized.observe(page ? document.documentElement : box.current);
    return () => {
      node.removeEventListener("scroll", scrolled);
      sized.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [count, rowHeight, page, onFollow]);

  if (handle) {
    handle.current = {
      reveal(index) {
        const node = box.current;
        if (!node) return;
        if (page) {
          const top = node.getBoundingClientRect().top + window.scrollY + index * rowHeight;
          if (top < window.scrollY + 120) window.scrollTo(0, Math.max(0, top - 120));
          else if (top + rowHeight > window.scrollY + window.innerHeight - 8) window.scrollTo(0, top + rowHeight - window.innerHeight + 8);
        } else {
          const top = index * rowHeight;
          if (top < node.scrollTop) node.scrollTop = top;
          else if (top + rowHeight > node.scrollTop + node.clientHeight) node.scrollTop = top + rowHeight - node.clientHeight;
        }
        measure();
      },
    };
  }

  const [first, last] = [Math.min(range[0], Math.max(0, count - 1)), Math.min(range[1], count)];
  const rows = [];
  for (let index = first; index < last; index += 1) rows.push(row(index));
  // The box that scrolls can be focused, so it must have a role of its own: it is the row group then.
  return html`<div ref=${box} class=${`virtual ${page ? "virtual-page" : "virtual-box"} ${className}`} tabindex=${page ? undefined : 0} role=${page ? "presentation" : role} aria-label=${page ? undefined : label}>
    <div class="virtual-rows" role=${page ? role : "presentation"} style=${{ height: `${count * rowHeight}px`, paddingTop: `${first * rowHeight}px` }}>${rows}</div>
  </div>`;
}
