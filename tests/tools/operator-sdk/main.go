// Command operator-sdk has the two commands of the SDK that look at a bundle. It is built inside the SDK's own sources.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/operator-framework/operator-sdk/internal/cmd/operator-sdk/bundle"
	"github.com/operator-framework/operator-sdk/internal/cmd/operator-sdk/scorecard"
)

func main() {
	root := &cobra.Command{Use: "operator-sdk", SilenceUsage: true}
	root.AddCommand(bundle.NewCmd(), scorecard.NewCmd())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
