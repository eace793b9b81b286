// The JavaScript client against an API server: objects, patches, watches, an informer and custom objects.

import * as k8s from '@kubernetes/client-node';
import assert from 'node:assert/strict';

const namespace = 'javascript-client';
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);

function within(seconds, what, start) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`expected within ${seconds} seconds: ${what}`)), seconds * 1000);
    start((value) => { clearTimeout(timer); resolve(value); }, (error) => { clearTimeout(timer); reject(error); });
  });
}

async function objects() {
  const body = { metadata: { name: 'typed', labels: { app: 'x' } }, data: { a: '1' } };
  const made = await core.createNamespacedConfigMap({ namespace, body });
  assert.ok(made.metadata.uid, 'a created object has a uid');
  await assert.rejects(core.createNamespacedConfigMap({ namespace, body }), (refused) => refused.code === 409);

  made.data.b = '2';
  const replaced = await core.replaceNamespacedConfigMap({ name: 'typed', namespace, body: made });
  assert.deepEqual(replaced.data, { a: '1', b: '2' });
  await assert.rejects(core.replaceNamespacedConfigMap({ name: 'typed', namespace, body: made }), (refused) => refused.code === 409);

  const patched = await core.patchNamespacedConfigMap(
    { name: 'typed', namespace, body: { data: { a: null, c: '3' } } },
    k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
  );
  assert.deepEqual(patched.data, { b: '2', c: '3' });
  const json = await core.patchNamespacedConfigMap({ name: 'typed', namespace, body: [{ op: 'remove', path: '/data/c' }] });
  assert.deepEqual(json.data, { b: '2' });

  const applied = await k8s.KubernetesObjectApi.makeApiClient(config).patch(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied', namespace }, data: { k: 'v' } },
    undefined, undefined, 'judge', true, k8s.PatchStrategy.ServerSideApply,
  );
  assert.equal(applied.data.k, 'v');
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=x' });
  assert.deepEqual(listed.items.map((item) => item.metadata.name), ['typed']);
}

async function watches() {
  const seen = [];
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  await within(30, 'three events of a watch', async (resolve, reject) => {
    const request = await new k8s.Watch(config).watch(path, {}, (type, object) => {
      if (object.metadata?.name !== 'watched') return;
      seen.push(type);
      if (type === 'DELETED') { request.abort(); resolve(); }
    }, (error) => { if (error && error.name !== 'AbortError') reject(error); });
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'watched' } } });
    await core.patchNamespacedConfigMap({ name: 'watched', namespace, body: [{ op: 'add', path: '/data', value: { k: 'v' } }] });
    await core.deleteNamespacedConfigMap({ name: 'watched', namespace });
  });
  assert.deepEqual(seen, ['ADDED', 'MODIFIED', 'DELETED']);

  const list = () => core.listNamespacedConfigMap({ namespace });
  const informer = k8s.makeInformer(config, path, list);
  const told = within(30, 'an object of an informer', (resolve, reject) => {
    informer.on('add', (object) => { if (object.metadata.name === 'informed') resolve(); });
    informer.on('error', reject);
  });
  await informer.start();
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'informed' } } });
  await told;
  assert.equal(informer.get('informed', namespace).metadata.name, 'informed');
  await informer.stop();
}

async function custom() {
  const notes = config.makeApiClient(k8s.CustomObjectsApi);
  const where = { group: 'judges.example.com', version: 'v1', namespace, plural: 'notes' };
  const note = (copies) => ({ ...where, body: { apiVersion: 'judges.example.com/v1', kind: 'Note', metadata: { name: 'n' }, spec: { copies } } });
  await assert.rejects(notes.createNamespacedCustomObject(note(4)), (refused) => refused.code === 422);
  const made = await notes.createNamespacedCustomObject(note(3));
  assert.equal(made.spec.text, 'empty');
  const patched = await notes.patchNamespacedCustomObject(
    { ...where, name: 'n', body: { spec: { copies: 1 } } }, k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch),
  );
  assert.equal(patched.spec.copies, 1);
  assert.equal(patched.metadata.generation, 2);
}

await core.createNamespace({ body: { metadata: { name: namespace } } });
await objects();
await watches();
await custom();
await core.deleteNamespace({ name: namespace });
console.log('javascript: the client\'s program passed');
