// Prints how the structs of the Kubernetes API look as protobuf: number, JSON name and type of each
// field. It reads the tags of the compiled types and nothing else; hack/wire_extract.py keeps the result.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var kinds = map[string]any{
	"apps/v1/ControllerRevision":                      appsv1.ControllerRevision{},
	"apps/v1/DaemonSet":                               appsv1.DaemonSet{},
	"apps/v1/Deployment":                              appsv1.Deployment{},
	"apps/v1/ReplicaSet":                              appsv1.ReplicaSet{},
	"apps/v1/StatefulSet":                             appsv1.StatefulSet{},
	"authentication.k8s.io/v1/SelfSubjectReview":      authenticationv1.SelfSubjectReview{},
	"authorization.k8s.io/v1/SelfSubjectAccessReview": authorizationv1.SelfSubjectAccessReview{},
	"authorization.k8s.io/v1/SelfSubjectRulesReview":  authorizationv1.SelfSubjectRulesReview{},
	"autoscaling/v1/Scale":                            autoscalingv1.Scale{},
	"batch/v1/Job":                                    batchv1.Job{},
	"coordination.k8s.io/v1/Lease":                    coordinationv1.Lease{},
	"events.k8s.io/v1/Event":                          eventsv1.Event{},
	"meta.k8s.io/v1/DeleteOptions":                    metav1.DeleteOptions{},
	"networking.k8s.io/v1/Ingress":                    networkingv1.Ingress{},
	"networking.k8s.io/v1/IngressClass":               networkingv1.IngressClass{},
	"networking.k8s.io/v1/NetworkPolicy":              networkingv1.NetworkPolicy{},
	"node.k8s.io/v1/RuntimeClass":                     nodev1.RuntimeClass{},
	"policy/v1/Eviction":                              policyv1.Eviction{},
	"policy/v1/PodDisruptionBudget":                   policyv1.PodDisruptionBudget{},
	"rbac.authorization.k8s.io/v1/ClusterRole":        rbacv1.ClusterRole{},
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding": rbacv1.ClusterRoleBinding{},
	"rbac.authorization.k8s.io/v1/Role":               rbacv1.Role{},
	"rbac.authorization.k8s.io/v1/RoleBinding":        rbacv1.RoleBinding{},
	"scheduling.k8s.io/v1/PriorityClass":              schedulingv1.PriorityClass{},
	"storage.k8s.io/v1/CSINode":                       storagev1.CSINode{},
	"storage.k8s.io/v1/StorageClass":                  storagev1.StorageClass{},
	"storage.k8s.io/v1/VolumeAttachment":              storagev1.VolumeAttachment{},
	"v1/Binding":                                      corev1.Binding{},
	"v1/ConfigMap":                                    corev1.ConfigMap{},
	"v1/Event":                                        corev1.Event{},
	"v1/LimitRange":                                   corev1.LimitRange{},
	"v1/Namespace":                                    corev1.Namespace{},
	"v1/Node":                                         corev1.Node{},
	"v1/PersistentVolume":                             corev1.PersistentVolume{},
	"v1/PersistentVolumeClaim":                        corev1.PersistentVolumeClaim{},
	"v1/Pod":                                          corev1.Pod{},
	"v1/ResourceQuota":                                corev1.ResourceQuota{},
	"v1/Secret":                                       corev1.Secret{},
	"v1/Service":                                      corev1.Service{},
	"v1/ServiceAccount":                               corev1.ServiceAccount{},
}

// Types that JSON writes in a way of their own.
var special = map[string]string{
	"v1.Time":              "time",
	"v1.MicroTime":         "micro-time",
	"resource.Quantity":    "quantity",
	"intstr.IntOrString":   "int-or-string",
	"v1.FieldsV1":          "raw",
	"runtime.RawExtension": "raw",
	"v1.Duration":          "duration",
}

// Field is one line of the table: name, type, and flags: r(epeated), i(nline), o(mitted when empty),
// p(ointer). A map has the types of its keys and values.
type Field [3]string

var messages = map[string]map[string]Field{}

func main() {
	names := map[string]string{}
	for kind, value := range kinds {
		names[kind] = message(reflect.TypeOf(value))
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]any{"kinds": names, "messages": messages}); err != nil {
		panic(err)
	}
}

func message(t reflect.Type) string {
	name := named(t)
	if _, known := messages[name]; known {
		return name
	}
	fields := map[string]Field{}
	messages[name] = fields
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		tag := field.Tag.Get("protobuf")
		if tag == "" {
			continue
		}
		number := strings.Split(tag, ",")[1]
		fields[number] = described(field)
	}
	return name
}

// named tells types of one name in two packages apart: core/v1.Event, events/v1.Event.
func named(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return strings.Join(parts[len(parts)-2:], "/") + "." + t.Name()
}

func described(field reflect.StructField) Field {
	parts := strings.Split(field.Tag.Get("json"), ",")
	flags := ""
	for _, option := range parts[1:] {
		switch option {
		case "inline":
			flags += "i"
		case "omitempty", "omitzero":
			if !strings.Contains(flags, "o") {
				flags += "o"
			}
		}
	}
	t := field.Type
	if t.Kind() == reflect.Pointer {
		flags += "p"
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		flags += "r"
		t = t.Elem()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return Field{parts[0], typed(t), flags}
}

func typed(t reflect.Type) string {
	if name, ok := special[t.String()]; ok {
		return name
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int64, reflect.Int:
		return "int"
	case reflect.Map:
		return "map " + typed(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "items " + typed(t.Elem()) // A named list, which is a message of its own.
	case reflect.Struct:
		return message(t)
	}
	panic("no wire type for " + t.String())
}
