/** The databases that are served, null until it is known, and what is wrong when they cannot be read. With one of them, addresses and routes need no project. */
import { useEffect, useState } from "./html.js";
import { readProjects } from "./endpoints.js";
import { startPolling } from "./polling.js";

export function useProjects() {
  const [projects, setProjects] = useState(null);
  const [fault, setFault] = useState(null);
  useEffect(() => {
    const poller = startPolling(
      async (signal) => {
        setProjects(await readProjects(signal));
        return 10_000;
      },
      setFault,
    );
    return poller.stop;
  }, []);
  return { projects, fault };
}
