// The Java client fabric8 against an API server: objects, patches, watches over WebSockets, informers and custom objects.

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

final class Client {
  private static final String NAMESPACE = "java-client";

  public static void main(String[] arguments) throws Exception {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      client.namespaces().resource(new NamespaceBuilder().withNewMetadata().withName(NAMESPACE).endMetadata().build()).create();
      objects(client);
      watches(client);
      custom(client);
      client.namespaces().withName(NAMESPACE).delete();
    }
    System.out.println("java: the client's program passed");
    System.exit(0);
  }

  private static void expect(boolean condition, String sentence) {
    if (!condition) {
      throw new AssertionError("java: expected that " + sentence);
    }
  }

  private static void refused(int code, Runnable call) {
    try {
      call.run();
    } catch (KubernetesClientException refused) {
      expect(refused.getCode() == code, "the server answers " + code + ", not " + refused.getCode() + ": " + refused.getMessage());
      return;
    }
    throw new AssertionError("java: expected that the server answers " + code);
  }

  private static ConfigMap configMap(String name, Map<String, String> data) {
    return new ConfigMapBuilder().withNewMetadata().withName(name).withNamespace(NAMESPACE).endMetadata().withData(data).build();
  }

  private static void objects(KubernetesClient client) {
    ConfigMap made = client.resource(configMap("typed", Map.of("a", "1"))).create();
    expect(made.getMetadata().getUid() != null, "a created object has a uid");
    refused(409, () -> client.resource(configMap("typed", Map.of())).create());
    ConfigMap edited = client.configMaps().inNamespace(NAMESPACE).withName("typed")
        .edit(old -> new ConfigMapBuilder(old).addToData("b", "2").build());
    expect(edited.getData().equals(Map.of("a", "1", "b", "2")), "an edited object has both keys");
    ConfigMap merged = client.configMaps().inNamespace(NAMESPACE).withName("typed")
        .patch(PatchContext.of(PatchType.JSON_MERGE), "{\"data\": {\"a\": null, \"c\": \"3\"}}");
    expect(merged.getData().equals(Map.of("b", "2", "c", "3")), "a merge removes null and adds the rest");
    ConfigMap applied = client.resource(configMap("applied", Map.of("k", "v"))).fieldManager("judge").forceConflicts().serverSideApply();
    expect(applied.getData().get("k").equals("v"), "an applied object has its data");
  }

  private static void watches(KubernetesClient client) throws Exception {
    List<String> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch deleted = new CountDownLatch(1);
    try (Watch watch = client.configMaps().inNamespace(NAMESPACE).withName("watched").watch(new Watcher<ConfigMap>() {
      @Override
      public void eventReceived(Action action, ConfigMap object) {
        seen.add(action.name());
        if (action == Action.DELETED) {
          deleted.countDown();
        }
      }

      @Override
      public void onClose(WatcherException cause) {
        seen.add("closed: " + cause.getMessage());
        deleted.countDown();
      }
    })) {
      client.resource(configMap("watched", Map.of())).create();
      client.resource(configMap("watched", Map.of("k", "v"))).update();
      client.resource(configMap("watched", Map.of())).delete();
      expect(deleted.await(30, TimeUnit.SECONDS), "a watch sees the deletion; it saw " + seen);
    }
    expect(seen.equals(List.of("ADDED", "MODIFIED", "DELETED")), "a watch sees three events, not " + seen);

    CompletableFuture<String> informed = new CompletableFuture<>();
    try (SharedIndexInformer<ConfigMap> informer = client.configMaps().inNamespace(NAMESPACE).inform(new ResourceEventHandler<ConfigMap>() {
      @Override
      public void onAdd(ConfigMap object) {
        if (object.getMetadata().getName().equals("informed")) {
          informed.complete(object.getMetadata().getName());
        }
      }

      @Override
      public void onUpdate(ConfigMap before, ConfigMap after) {}

      @Override
      public void onDelete(ConfigMap object, boolean unknown) {}
    })) {
      client.resource(configMap("informed", Map.of())).create();
      informed.get(30, TimeUnit.SECONDS);
    }

    CompletableFuture<?> change = CompletableFuture.runAsync(() -> client.resource(configMap("informed", Map.of("ready", "yes"))).update());
    ConfigMap ready = client.configMaps().inNamespace(NAMESPACE).withName("informed")
        .waitUntilCondition(object -> object != null && object.getData() != null && object.getData().containsKey("ready"), 30, TimeUnit.SECONDS);
    expect(ready.getData().get("ready").equals("yes"), "the condition holds");
    change.get();
  }

  private static void custom(KubernetesClient client) {
    ResourceDefinitionContext notes = new ResourceDefinitionContext.Builder()
        .withGroup("judges.example.com").withVersion("v1").withKind("Note").withPlural("notes").withNamespaced(true).build();
    refused(422, () -> client.genericKubernetesResources(notes).inNamespace(NAMESPACE).resource(note(4)).create());
    GenericKubernetesResource made = client.genericKubernetesResources(notes).inNamespace(NAMESPACE).resource(note(3)).create();
    expect("empty".equals(made.get("spec", "text")), "a note has the default of its schema");
    GenericKubernetesResource edited = client.genericKubernetesResources(notes).inNamespace(NAMESPACE).withName("n").edit(old -> {
      old.setAdditionalProperty("spec", Map.of("copies", 1));
      return old;
    });
    expect(edited.getMetadata().getGeneration() == 2, "a change of the spec is a new generation");
  }

  private static GenericKubernetesResource note(int copies) {
    return new GenericKubernetesResourceBuilder().withApiVersion("judges.example.com/v1").withKind("Note")
        .withNewMetadata().withName("n").withNamespace(NAMESPACE).endMetadata()
        .withAdditionalProperties(Map.of("spec", Map.of("copies", copies))).build();
  }
}
