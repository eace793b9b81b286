"""An operator of kopf: handlers of Notes that write children, a status and a finalizer."""

import kopf
import kubernetes


@kopf.on.create("judges.example.com", "v1", "notes")
def create(body, spec, **_):
    copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"copies": str(spec["copies"])}}
    kopf.adopt(copy, owner=body)
    copy["metadata"] = {**copy["metadata"], "name": body["metadata"]["name"]}
    copy["metadata"].pop("generateName", None)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(body["metadata"]["namespace"], copy)
    return {"made": True}


@kopf.on.update("judges.example.com", "v1", "notes", field="spec.copies")
def update(new, name, namespace, **_):
    kubernetes.client.CoreV1Api().patch_namespaced_config_map(name, namespace, {"data": {"copies": str(new)}})
    return {"copies": new}


@kopf.on.delete("judges.example.com", "v1", "notes")
def delete(name, namespace, **_):
    kubernetes.client.CoreV1Api().create_namespaced_config_map(
        namespace, {"metadata": {"name": f"{name}-deleted"}}
    )
