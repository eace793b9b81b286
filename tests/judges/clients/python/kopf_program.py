"""Runs the operator beside this file with kopf's own runner, and drives it: create, update and delete of a Note."""

import pathlib
import sys
import time

import kopf.testing
from kubernetes import client, config, watch

NAMESPACE = "python-kopf"
HERE = pathlib.Path(__file__).parent


def wait_for(what, stream, wanted):
    watcher = watch.Watch()
    for event in watcher.stream(*stream, timeout_seconds=60):
        if wanted(event):
            return
    sys.exit(f"kopf: expected within 60 seconds: {what}")


def main():
    api = config.new_client_from_config()
    core, notes = client.CoreV1Api(api), client.CustomObjectsApi(api)
    core.create_namespace(client.V1Namespace(metadata={"name": NAMESPACE}))
    where = ("judges.example.com", "v1", NAMESPACE, "notes")

    def copies(value):
        return lambda event: event["object"].metadata.name == "n" and (event["object"].data or {}).get("copies") == value

    with kopf.testing.KopfRunner(["run", "--standalone", "-n", NAMESPACE, str(HERE / "note_operator.py")], timeout=120) as runner:
        notes.create_namespaced_custom_object(*where, {"apiVersion": "judges.example.com/v1", "kind": "Note", "metadata": {"name": "n"}, "spec": {"copies": 1}})
        wait_for("a ConfigMap with one copy", (core.list_namespaced_config_map, NAMESPACE), copies("1"))
        wait_for(
            "the status of the handler", (notes.list_namespaced_custom_object, *where),
            lambda event: event["object"].get("status", {}).get("create", {}).get("made"),
        )
        notes.patch_namespaced_custom_object(*where, "n", {"spec": {"copies": 2}})
        wait_for("a ConfigMap with two copies", (core.list_namespaced_config_map, NAMESPACE), copies("2"))
        notes.delete_namespaced_custom_object(*where, "n")
        wait_for(
            "the handler of the deletion", (core.list_namespaced_config_map, NAMESPACE),
            lambda event: event["object"].metadata.name == "n-deleted",
        )
        # It may be gone already, and a watch that begins now would not tell.
        deadline = time.monotonic() + 60
        while notes.list_namespaced_custom_object(*where)["items"]:
            if time.monotonic() > deadline:
                sys.exit("kopf: expected within 60 seconds: the end of the Note")
            time.sleep(0.1)
    if runner.exit_code != 0 or runner.exception is not None:
        sys.exit(f"kopf: the operator ended with {runner.exit_code}: {runner.exception}\n{runner.output}")
    core.delete_namespace(NAMESPACE)
    print("kopf: the operator's program passed")


if __name__ == "__main__":
    main()
