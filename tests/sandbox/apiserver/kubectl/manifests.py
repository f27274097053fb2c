"""What the tests give to kubectl."""

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: worker
  labels: {app: work}
spec:
  containers:
  - name: main
    image: registry.example/work:1
    resources:
      requests: {cpu: 500m}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: red
  size: "1"
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {podGroupName: gang}
      containers:
      - name: main
        image: registry.example/work:1
"""
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: gang
spec:
  schedulingPolicy:
    gang: {minCount: 2}
"""
NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: "{ns}-node"
  labels: {rack: r1}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110"}
  allocatable: {cpu: "8", memory: 32Gi, pods: "110"}
  conditions:
  - {type: Ready, status: "True", reason: KubeletReady, message: all is well}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec:
  spec:
    devices:
      requests:
      - {name: gpu, firstAvailable: [{name: a, deviceClassName: a}, {name: b, deviceClassName: b}]}
"""
MENUS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: menus.kubectl.example
spec:
  group: kubectl.example
  scope: Namespaced
  names: {plural: menus, kind: Menu, shortNames: [mn]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              weight: {type: integer, description: How much of the cluster it may have.}
    additionalPrinterColumns:
    - {name: Weight, type: integer, jsonPath: .spec.weight}
"""
MENU = """\
apiVersion: kubectl.example/v1
kind: Menu
metadata: {name: first}
spec: {weight: 3}
"""


def several(*manifests: str) -> str:
    return "---\n".join(manifests)
