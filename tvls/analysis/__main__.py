from tvls.analysis.process import main

main()
