"""What the page of kinds says of those that a simulated cluster only stores, or does not serve."""

ONLY_STORED = """
A simulated cluster takes these, too, so that a folder of manifests can be applied or loaded as it
is. They can be read, changed and deleted like all others, and go with their owners and namespaces.
But nobody acts on them: a Service has an address and no endpoints, a ResourceQuota counts nothing,
a LimitRange gives no defaults to pods, a Role allows nothing to anybody, and no namespace gets a
ServiceAccount by itself. Their values are hardly judged: what a real server would refuse may pass.
"""
VOLUMES_SAID = """
The simulated scheduler looks at claims, volumes and classes as a real one does. A claim of a class
with a provisioner gets a volume: at once, or, if the class waits for the first consumer, when its
pod has been given a node, in whose zone it then lies. Nothing provides for classes without a
provisioner, and a claim without any class waits until whoever writes it binds it. The pods of a
StatefulSet get the claims of its templates, which stay when it goes. Nothing is attached, and no
volume ends with its claim.
unmoor itself reads claims, volumes and attachments as it does on a real cluster.
"""
NOT_SERVED = """
Everything else. Among it is what people may miss: CronJob, Endpoints and EndpointSlice,
HorizontalPodAutoscaler, ReplicationController, PodTemplate, CertificateSigningRequest, webhooks and
admission policies. `kubectl` is refused with a sentence; `unmoor sim up --load` and `unmoor demo`
leave such objects out and say so. A CustomResourceDefinition can be created or loaded, and its kind
is served from then on, in the version that is stored, if its name is none of those above: a
simulated cluster knows kinds by their names alone.
"""
