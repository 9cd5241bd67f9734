#!/bin/sh
cat > context.json; cat verdict
