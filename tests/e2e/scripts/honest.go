// honest ADDRESS [FOLDER]: gRPC of Go asks a scheduler for its health, its services and its counters, plain or with the
// certificates of the folder. Also sends bursts of calls at full speed. Ends with 0 if all calls were answered.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io/ioutil"
	"log"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

const bursts, callsOfBurst = 10, 1000

func security() grpc.DialOption {
	if len(os.Args) < 3 {
		return grpc.WithInsecure()
	}
	certificate, err := tls.LoadX509KeyPair(os.Args[2]+"/client.pem", os.Args[2]+"/client.pem")
	check(err)
	authority, err := ioutil.ReadFile(os.Args[2] + "/ca.pem")
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return grpc.WithTransportCredentials(credentials.NewTLS(
		&tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool, ServerName: "127.0.0.1"}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func askReflection(ctx context.Context, connection *grpc.ClientConn) {
	stream, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
	check(err)
	for i := 0; i < 100; i++ {
		check(stream.Send(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"}}))
		answer, err := stream.Recv()
		check(err)
		if len(answer.GetListServicesResponse().Service) < 3 {
			log.Fatal(answer)
		}
	}
	check(stream.CloseSend())
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := grpc.DialContext(ctx, os.Args[1], security(), grpc.WithBlock())
	check(err)
	askReflection(ctx, connection)
	health := grpc_health_v1.NewHealthClient(connection)
	for burst := 0; burst < bursts; burst++ {
		begin := time.Now()
		var calls sync.WaitGroup
		for i := 0; i < callsOfBurst; i++ {
			calls.Add(1)
			go func() {
				defer calls.Done()
				answer, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				check(err)
				if answer.Status != grpc_health_v1.HealthCheckResponse_SERVING {
					log.Fatal(answer)
				}
			}()
		}
		calls.Wait()
		took := time.Since(begin)
		fmt.Printf("%.0f calls a second\n", callsOfBurst/took.Seconds())
		time.Sleep(time.Second - took)
	}
}
