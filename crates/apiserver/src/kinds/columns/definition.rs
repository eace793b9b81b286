//! Which columns each kind has, by title, type and width.

use super::Column;

/// The columns of the kind; those without a printer of their own show when they were created.
pub(super) fn of(group: &str, kind: &str) -> &'static [Column] {
    match (group, kind) {
        ("", "Pod") => POD,
        ("", "PodTemplate") => POD_TEMPLATE,
        ("", "ReplicationController") | ("apps", "ReplicaSet") => REPLICATION_CONTROLLER,
        ("apps", "Deployment") => DEPLOYMENT,
        ("apps", "StatefulSet") => STATEFUL_SET,
        ("apps", "DaemonSet") => DAEMON_SET,
        ("apps", "ControllerRevision") => CONTROLLER_REVISION,
        ("batch", "Job") => JOB,
        ("batch", "CronJob") => CRON_JOB,
        ("policy", "PodDisruptionBudget") => POD_DISRUPTION_BUDGET,
        ("autoscaling", "HorizontalPodAutoscaler") => HORIZONTAL_POD_AUTOSCALER,
        ("autoscaling", "Scale") => SCALE,
        ("", "Service") => SERVICE,
        ("", "Endpoints") => ENDPOINTS,
        ("discovery.k8s.io", "EndpointSlice") => ENDPOINT_SLICE,
        ("networking.k8s.io", "Ingress") => INGRESS,
        ("networking.k8s.io", "IngressClass") => INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICY,
        ("networking.k8s.io", "ServiceCIDR") => SERVICE_CIDR,
        ("networking.k8s.io", "IPAddress") => IP_ADDRESS,
        ("", "Namespace") => NAMESPACE,
        ("", "Node") => NODE,
        ("" | "events.k8s.io", "Event") => EVENT,
        ("", "Secret") => SECRET,
        ("", "ConfigMap") => CONFIG_MAP,
        ("", "ServiceAccount") => SERVICE_ACCOUNT,
        ("", "ResourceQuota") => RESOURCE_QUOTA,
        ("", "ComponentStatus") => COMPONENT_STATUS,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ROLE_BINDING,
        ("certificates.k8s.io", "CertificateSigningRequest") => CERTIFICATE_SIGNING_REQUEST,
        ("certificates.k8s.io", "ClusterTrustBundle") => CLUSTER_TRUST_BUNDLE,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("coordination.k8s.io", "LeaseCandidate") => LEASE_CANDIDATE,
        ("scheduling.k8s.io", "PriorityClass") => PRIORITY_CLASS,
        ("node.k8s.io", "RuntimeClass") => RUNTIME_CLASS,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => MUTATING_WEBHOOK_CONFIGURATION,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => {
            VALIDATING_ADMISSION_POLICY
        }
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => MUTATING_ADMISSION_POLICY,
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding",
        ) => VALIDATING_ADMISSION_POLICY_BINDING,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => FLOW_SCHEMA,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            PRIORITY_LEVEL_CONFIGURATION
        }
        ("", "PersistentVolume") => PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => PERSISTENT_VOLUME_CLAIM,
        ("storage.k8s.io", "StorageClass") => STORAGE_CLASS,
        ("storage.k8s.io", "VolumeAttributesClass") => VOLUME_ATTRIBUTES_CLASS,
        ("storage.k8s.io", "VolumeAttachment") => VOLUME_ATTACHMENT,
        ("storage.k8s.io", "CSIDriver") => CSI_DRIVER,
        ("storage.k8s.io", "CSINode") => CSI_NODE,
        ("apiregistration.k8s.io", "APIService") => API_SERVICE,
        ("resource.k8s.io", "ResourceClaim") => RESOURCE_CLAIM,
        ("resource.k8s.io", "ResourceClaimTemplate" | "DeviceClass") => RESOURCE_CLAIM_TEMPLATE,
        ("resource.k8s.io", "ResourceSlice") => RESOURCE_SLICE,
        _ => OTHER,
    }
}

const NAME: Column = named(text(
    "Name",
    "the object's name, unique within its namespace",
));
const AGE: Column = text("Age", "how long ago the object was created");
const CONTAINERS: Column = wide("Containers", "the names of the containers");
const IMAGES: Column = wide("Images", "the images of the containers");
const SELECTOR: Column = wide("Selector", "which pods belong to it");

const OTHER: &[Column] = &[
    NAME,
    Column {
        kind: "date",
        ..text("Created At", "when the object was created")
    },
];
const POD: &[Column] = &[
    NAME,
    text("Ready", "how many containers are ready"),
    text("Status", "the state of the pod and of its containers"),
    text("Restarts", "how often containers were restarted"),
    AGE,
    wide("IP", "the address of the pod"),
    wide("Node", "where the pod runs"),
    wide("Nominated Node", "where the pod shall run after preemption"),
    wide("Readiness Gates", "how many readiness gates are passed"),
];
const POD_TEMPLATE: &[Column] = &[
    NAME,
    text("Containers", "the names of the containers"),
    text("Images", "the images of the containers"),
    text("Pod Labels", "the labels of its pods"),
];
const REPLICATION_CONTROLLER: &[Column] = &[
    NAME,
    integer("Desired", "how many pods are wanted"),
    integer("Current", "how many pods there are"),
    integer("Ready", "how many pods are ready"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];
const DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready", "how many pods are ready, of how many"),
    text("Up-to-date", "how many pods have the newest template"),
    text("Available", "how many pods are available"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];
const STATEFUL_SET: &[Column] = &[
    NAME,
    text("Ready", "how many pods are ready, of how many"),
    AGE,
    CONTAINERS,
    IMAGES,
];
const DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired", "on how many nodes it shall run"),
    integer("Current", "on how many nodes it runs"),
    integer("Ready", "on how many nodes it is ready"),
    integer("Up-to-date", "on how many nodes it has the newest template"),
    integer("Available", "on how many nodes it is available"),
    text("Node Selector", "which nodes it runs on"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];
const CONTROLLER_REVISION: &[Column] = &[
    NAME,
    text("Controller", "whose state this is"),
    text("Revision", "the number of the revision"),
    AGE,
];
const JOB: &[Column] = &[
    NAME,
    text("Status", "the state of the job"),
    text("Completions", "how many pods succeeded, of how many"),
    text("Duration", "how long it ran"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];
const CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule", "when it runs, in cron form"),
    text("Timezone", "the time zone of the schedule"),
    boolean("Suspend", "whether it is suspended"),
    integer("Active", "how many jobs are running"),
    text("Last Schedule", "how long ago it last ran"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];
const POD_DISRUPTION_BUDGET: &[Column] = &[
    NAME,
    text("Min Available", "how many pods must stay available"),
    text("Max Unavailable", "how many pods may be unavailable"),
    integer("Allowed Disruptions", "how many pods may be disrupted now"),
    AGE,
];
const HORIZONTAL_POD_AUTOSCALER: &[Column] = &[
    NAME,
    text("Reference", "what is scaled"),
    text("Targets", "the metrics and what they shall be"),
    text("MinPods", "the lower limit"),
    text("MaxPods", "the upper limit"),
    text("Replicas", "how many pods there are"),
    AGE,
];
const SCALE: &[Column] = &[
    text("Name", "the object's name, unique within its namespace"),
    integer("Desired", "how many pods are wanted"),
    integer("Available", "how many pods there are"),
    AGE,
];
const SERVICE: &[Column] = &[
    NAME,
    text("Type", "how the service is reached"),
    text("Cluster-IP", "its address in the cluster"),
    text("External-IP", "its addresses outside"),
    text("Port(s)", "its ports"),
    AGE,
    SELECTOR,
];
const ENDPOINTS: &[Column] = &[NAME, text("Endpoints", "addresses and ports"), AGE];
const ENDPOINT_SLICE: &[Column] = &[
    NAME,
    text("AddressType", "the type of the addresses"),
    text("Ports", "the ports of every endpoint"),
    text("Endpoints", "the addresses"),
    AGE,
];
const INGRESS: &[Column] = &[
    NAME,
    text("Class", "the ingress class"),
    text("Hosts", "the hosts that are served"),
    text("Address", "the addresses of the load balancer"),
    text("Ports", "the ports that are open"),
    AGE,
];
const INGRESS_CLASS: &[Column] = &[
    NAME,
    text("Controller", "who serves the class"),
    text("Parameters", "the object with further settings"),
    AGE,
];
const NETWORK_POLICY: &[Column] = &[NAME, text("Pod-Selector", "which pods it is about"), AGE];
const SERVICE_CIDR: &[Column] = &[NAME, text("CIDRs", "the ranges of addresses"), AGE];
const IP_ADDRESS: &[Column] = &[NAME, text("ParentRef", "who uses the address")];
const NAMESPACE: &[Column] = &[NAME, text("Status", "the state of the namespace"), AGE];
const NODE: &[Column] = &[
    NAME,
    text("Status", "the state of the node"),
    text("Roles", "the roles of the node"),
    AGE,
    text("Version", "the version of its kubelet"),
    wide("Internal-IP", "its address in the cluster"),
    wide("External-IP", "its address outside"),
    wide("OS-Image", "its operating system"),
    wide("Kernel-Version", "its kernel"),
    wide("Container-Runtime", "what runs its containers"),
];
const EVENT: &[Column] = &[
    text("Last Seen", "how long ago it last happened"),
    text("Type", "Normal or Warning"),
    text("Reason", "why, in a word"),
    text("Object", "what it is about"),
    wide("Subobject", "which part of it"),
    wide("Source", "who reports it"),
    text("Message", "what happened"),
    wide("First Seen", "how long ago it first happened"),
    wide("Count", "how often it happened"),
    named(wide(
        "Name",
        "the object's name, unique within its namespace",
    )),
];
const SECRET: &[Column] = &[
    NAME,
    text("Type", "what it is for"),
    text("Data", "how many keys it has"),
    AGE,
];
const CONFIG_MAP: &[Column] = &[NAME, text("Data", "how many keys it has"), AGE];
const SERVICE_ACCOUNT: &[Column] = &[NAME, AGE];
const RESOURCE_QUOTA: &[Column] = &[
    NAME,
    text("Request", "what is used, of how much"),
    text("Limit", "what is used of the limits, of how much"),
    AGE,
];
const COMPONENT_STATUS: &[Column] = &[
    NAME,
    text("Status", "the state of the component"),
    text("Message", "what it says"),
    text("Error", "what is wrong"),
];
const ROLE_BINDING: &[Column] = &[
    NAME,
    text("Role", "what is granted"),
    AGE,
    wide("Users", "the users it is granted to"),
    wide("Groups", "the groups it is granted to"),
    wide("ServiceAccounts", "the service accounts it is granted to"),
];
const CERTIFICATE_SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", "who shall sign"),
    text("Requestor", "who asks"),
    text("RequestedDuration", "how long it shall be valid"),
    text("Condition", "how far it is"),
];
const CLUSTER_TRUST_BUNDLE: &[Column] =
    &[NAME, text("SignerName", "whose certificates are trusted")];
const LEASE: &[Column] = &[NAME, text("Holder", "who holds it"), AGE];
const LEASE_CANDIDATE: &[Column] = &[
    NAME,
    text("LeaseName", "which lease it is for"),
    text("BinaryVersion", "the version of the candidate"),
    text("EmulationVersion", "the version that it emulates"),
    AGE,
];
const PRIORITY_CLASS: &[Column] = &[
    NAME,
    integer("Value", "the priority"),
    boolean("Global-Default", "whether pods without a class get it"),
    AGE,
    text("PreemptionPolicy", "whether its pods push others out"),
];
const RUNTIME_CLASS: &[Column] = &[NAME, text("Handler", "what runs the containers"), AGE];
const MUTATING_WEBHOOK_CONFIGURATION: &[Column] =
    &[NAME, integer("Webhooks", "how many webhooks it has"), AGE];
const VALIDATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Validations", "how many rules it has"),
    text("ParamKind", "the kind of its parameters"),
    AGE,
];
const MUTATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Mutations", "how many rules it has"),
    text("ParamKind", "the kind of its parameters"),
    AGE,
];
const VALIDATING_ADMISSION_POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", "the policy that is bound"),
    text("ParamRef", "the parameters it gets"),
    AGE,
];
const FLOW_SCHEMA: &[Column] = &[
    NAME,
    text("PriorityLevel", "the level of its requests"),
    text("MatchingPrecedence", "which schema is asked first"),
    text("DistinguisherMethod", "how its flows differ"),
    AGE,
    text("MissingPL", "whether its level is missing"),
];
const PRIORITY_LEVEL_CONFIGURATION: &[Column] = &[
    NAME,
    text("Type", "whether it is limited"),
    text("NominalConcurrencyShares", "its share of the seats"),
    text("Queues", "how many queues it has"),
    text("HandSize", "how many queues a flow may use"),
    text("QueueLengthLimit", "how long a queue may be"),
    AGE,
];
const PERSISTENT_VOLUME: &[Column] = &[
    NAME,
    text("Capacity", "how much it holds"),
    text("Access Modes", "how it can be mounted"),
    text("Reclaim Policy", "what happens to it after its claim"),
    text("Status", "the state of the volume"),
    text("Claim", "who uses it"),
    text("StorageClass", "its storage class"),
    text("VolumeAttributesClass", "its attributes class"),
    text("Reason", "why it is in this state"),
    AGE,
    wide("VolumeMode", "a file system or a block device"),
];
const PERSISTENT_VOLUME_CLAIM: &[Column] = &[
    NAME,
    text("Status", "the state of the claim"),
    text("Volume", "the volume that it got"),
    text("Capacity", "how much it got"),
    text("Access Modes", "how it can be mounted"),
    text("StorageClass", "its storage class"),
    text("VolumeAttributesClass", "its attributes class"),
    AGE,
    wide("VolumeMode", "a file system or a block device"),
];
const STORAGE_CLASS: &[Column] = &[
    NAME,
    text("Provisioner", "who makes its volumes"),
    text(
        "ReclaimPolicy",
        "what happens to volumes after their claims",
    ),
    text("VolumeBindingMode", "when volumes are made"),
    text("AllowVolumeExpansion", "whether claims can grow"),
    AGE,
];
const VOLUME_ATTRIBUTES_CLASS: &[Column] = &[NAME, text("DriverName", "who applies it"), AGE];
const VOLUME_ATTACHMENT: &[Column] = &[
    NAME,
    named(text("Attacher", "who attaches the volume")),
    text("PV", "the volume"),
    text("Node", "where it is attached"),
    boolean("Attached", "whether it is attached"),
    AGE,
];
const CSI_DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired", "whether volumes must be attached"),
    boolean("PodInfoOnMount", "whether it is told about pods"),
    boolean("StorageCapacity", "whether it reports capacity"),
    text("TokenRequests", "the audiences of its tokens"),
    boolean(
        "RequiresRepublish",
        "whether volumes are published again and again",
    ),
    text("Modes", "the life cycles that it knows"),
    AGE,
];
const CSI_NODE: &[Column] = &[
    NAME,
    integer("Drivers", "how many drivers the node has"),
    AGE,
];
const API_SERVICE: &[Column] = &[
    NAME,
    text("Service", "who serves the group"),
    text("Available", "whether it is served"),
    AGE,
];
const RESOURCE_CLAIM: &[Column] = &[NAME, text("State", "the state of the claim"), AGE];
const RESOURCE_CLAIM_TEMPLATE: &[Column] = &[NAME, AGE];
const RESOURCE_SLICE: &[Column] = &[
    NAME,
    text("Node", "where the devices are"),
    text("Driver", "who looks after them"),
    text("Pool", "which pool they belong to"),
    AGE,
];

const fn text(name: &'static str, description: &'static str) -> Column {
    Column {
        name,
        kind: "string",
        format: "",
        description,
        priority: 0,
    }
}

const fn integer(name: &'static str, description: &'static str) -> Column {
    Column {
        kind: "integer",
        ..text(name, description)
    }
}

const fn boolean(name: &'static str, description: &'static str) -> Column {
    Column {
        kind: "boolean",
        ..text(name, description)
    }
}

const fn wide(name: &'static str, description: &'static str) -> Column {
    Column {
        priority: 1,
        ..text(name, description)
    }
}

const fn named(column: Column) -> Column {
    Column {
        format: "name",
        ..column
    }
}
